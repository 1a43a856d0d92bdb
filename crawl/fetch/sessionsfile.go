package fetch

import (
	"encoding/binary"
	"hash/crc32"
	"runtime"
	"time"
)

// sessionsHeader begins the bytes of Client.Sessions. How a session is encoded is Go's own affair and may differ between its versions.
var sessionsHeader = "crawl tls sessions 1 " + runtime.Version() + "\n"

// marshal gives the newest sessions as bytes: header, checksum, certificates, sessions. nil if nothing changed since they were read.
func (s *sessions) marshal() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.changed {
		return nil
	}
	kept := s.newest()
	b := make([]byte, 0, len(sessionsHeader)+kept.size+kept.certs.size+(len(kept.hosts)+1)*64)
	b = append(append(b, sessionsHeader...), 0, 0, 0, 0)
	b = binary.AppendUvarint(b, uint64(len(kept.certs.all)))
	for _, der := range kept.certs.all {
		b = appendBytes(b, der)
	}
	b = binary.AppendUvarint(b, uint64(len(kept.hosts)))
	for host, one := range kept.hosts {
		b = appendBytes(b, []byte(host))
		b = binary.AppendUvarint(b, uint64(one.verified))
		b = appendBytes(b, one.ticket)
		b = appendBytes(b, one.encoded)
	}
	return sealSessions(b)
}

// sealSessions puts the checksum where there is room for it.
func sealSessions(b []byte) []byte {
	binary.BigEndian.PutUint32(b[len(sessionsHeader):], crc32.ChecksumIEEE(b[len(sessionsHeader)+4:]))
	return b
}

func appendBytes(b, what []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(what))), what...)
}

// unmarshalSessions reads what marshal gave, without those that are too old. Bytes of any other kind hold no session.
func unmarshalSessions(data []byte, now func() time.Time) *sessions {
	s := newSessions(now)
	body := len(sessionsHeader) + 4
	if len(data) < body || string(data[:len(sessionsHeader)]) != sessionsHeader ||
		binary.BigEndian.Uint32(data[body-4:]) != crc32.ChecksumIEEE(data[body:]) {
		return s
	}
	oldest := now().Add(-sessionAge).Unix()
	r := sessionsReader{data[body:], true}
	for n := r.number(); n > 0 && r.ok; n-- {
		s.certs.number(r.bytes())
	}
	for n := r.number(); n > 0 && r.ok; n-- {
		host := string(r.bytes())
		one := session{verified: int64(r.number()), ticket: r.bytes(), encoded: r.bytes()}
		if one.verified >= oldest {
			s.hosts[host] = one
			s.size += one.size()
		}
	}
	if !r.ok {
		return newSessions(now)
	}
	return s
}

// sessionsReader reads what marshal appended. After the first thing that cannot be it is not ok any more.
type sessionsReader struct {
	data []byte
	ok   bool
}

func (r *sessionsReader) number() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.ok = false
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *sessionsReader) bytes() []byte {
	length := r.number()
	if length > uint64(len(r.data)) {
		r.ok = false
		return nil
	}
	b := r.data[:length:length]
	r.data = r.data[length:]
	return b
}
