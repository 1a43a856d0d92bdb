package fetch

import (
	"cmp"
	"crypto/tls"
	"slices"
	"sync"
	"time"
)

const (
	maxSession     = 16 << 10           // bytes of one session; what is larger is not kept
	maxSessions    = 32 << 20           // bytes of all in memory
	sessionsOnDisk = maxSessions / 2    // so that the next run has room for new ones
	sessionAge     = 7 * 24 * time.Hour // the longest life of a ticket (RFC 8446, 4.6.1)
	liveSessions   = 64
)

// sessions keeps the TLS sessions of hosts from one run to the next (rule Q11): a visit that resumes one is sent no certificates
// and verifies none. They are kept encoded, a quarter of what they take otherwise. Safe for concurrent use.
type sessions struct {
	now  func() time.Time
	live tls.ClientSessionCache // the last few as they are, for hosts with many feeds

	mu       sync.Mutex
	hosts    map[string]session
	certs    certificates
	size     int              // bytes of hosts
	changed  bool             // since they were read
	verified map[string]int64 // Unix seconds at which a host's certificate was verified, in this run
	drops    map[string]int   // how often a host's session was of no use
}

// session is one that is kept.
type session struct {
	put      int64  // Unix seconds; 0: in an earlier run
	verified int64  // Unix seconds; sessions that come of one another have one certificate, verified once
	ticket   []byte // what the server wants to see
	encoded  []byte // tls.SessionState, packed
}

func (s session) size() int { return len(s.ticket) + len(s.encoded) }

func newSessions(now func() time.Time) *sessions {
	return &sessions{
		now: now, live: tls.NewLRUClientSessionCache(liveSessions),
		hosts: map[string]session{}, certs: newCertificates(), verified: map[string]int64{}, drops: map[string]int{},
	}
}

// Get implements tls.ClientSessionCache.
func (s *sessions) Get(host string) (*tls.ClientSessionState, bool) {
	if live, ok := s.live.Get(host); ok {
		return live, true
	}
	s.mu.Lock()
	kept, ok := s.hosts[host]
	var encoded []byte
	if ok {
		encoded, ok = s.certs.unpack(kept.encoded)
	}
	s.mu.Unlock()
	if !ok {
		return nil, false
	}
	state, err := tls.ParseSessionState(encoded)
	if err != nil {
		return nil, false
	}
	live, err := tls.NewResumptionState(kept.ticket, state)
	if err != nil {
		return nil, false
	}
	s.live.Put(host, live)
	return live, true
}

// Put implements tls.ClientSessionCache.
func (s *sessions) Put(host string, live *tls.ClientSessionState) {
	s.live.Put(host, live)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
	if live == nil {
		s.drops[host]++
		s.remove(host)
		return
	}
	now := s.now().Unix()
	if s.hosts[host].put == now { // servers give several at a time, and could give any number
		return
	}
	ticket, state, err := live.ResumptionState()
	if err != nil || state == nil {
		return
	}
	if encoded, err := state.Bytes(); err == nil {
		s.keep(host, session{put: now, verified: cmp.Or(s.verified[host], s.hosts[host].verified), ticket: ticket, encoded: encoded})
	}
}

// verify notes that a host's certificate was verified just now. TLS 1.2 has put its session by then, TLS 1.3 has not.
func (s *sessions) verify(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now().Unix()
	s.verified[host] = now
	if one, ok := s.hosts[host]; ok {
		one.verified = now
		s.hosts[host] = one
	}
}

// keep replaces the session of a host by one that is not packed yet, if there is room.
func (s *sessions) keep(host string, n session) {
	if n.size() > maxSession || s.size+s.certs.size+n.size() > maxSessions {
		return
	}
	s.remove(host)
	n.encoded = s.certs.pack(n.encoded)
	s.hosts[host] = n
	s.size += n.size()
}

func (s *sessions) remove(host string) {
	s.size -= s.hosts[host].size()
	delete(s.hosts, host)
}

// dropped tells how often the session of a host was dropped: if that is more often after a handshake that failed, it may be why.
func (s *sessions) dropped(host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drops[host]
}

// newest gives as many sessions as have room on disk.
func (s *sessions) newest() *sessions {
	names := make([]string, 0, len(s.hosts))
	for host := range s.hosts {
		names = append(names, host)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.hosts[b].verified, s.hosts[a].verified), cmp.Compare(a, b))
	})
	some := newSessions(s.now)
	for _, host := range names {
		one := s.hosts[host]
		encoded, ok := s.certs.unpack(one.encoded)
		if ok && some.size+some.certs.size < sessionsOnDisk {
			one.encoded = encoded
			some.keep(host, one)
		}
	}
	return some
}
