package fetch

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// names is what a resolver of these tests knows: a name's addresses, or how it fails.
type names struct {
	addrs map[string][]string
	fails map[string]dnsmessage.RCode
	mute  map[string]bool     // no answer is ever given
	heard chan string         // is told of those, if there is room
	later map[string][]string // the addresses that a name has from its second A query on
}

// newResolver starts a DNS server on loopback and returns a resolver that asks nothing else.
func newResolver(t testing.TB, n names) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		packet := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			if answer := n.answer(packet[:size]); answer != nil {
				conn.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}
}

func (n names) answer(packet []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(packet) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	addrs, known := n.addrs[name]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	switch code, fails := n.fails[name]; {
	case n.mute[name]:
		select {
		case n.heard <- name:
		default:
		}
		return nil
	case fails:
		m.RCode = code
	case !known:
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, s := range addrs {
		header := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 60}
		switch addr := netip.MustParseAddr(s); {
		case addr.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	if addrs, ok := n.later[name]; ok && q.Type == dnsmessage.TypeA {
		n.addrs[name] = addrs
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

// Reach finds out about the resolver and the route, and the host hears nothing.
func TestReach(t *testing.T) {
	listener, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.LocalAddr().String())
	for _, open := range []bool{true, false} {
		c := newClient(t, func(o *Options) {
			o.ConnectTimeout = time.Second
			if !open {
				o.AllowNet = nil
			}
		})
		c.resolver = newResolver(t, names{
			addrs: map[string][]string{"near.test": {"127.0.0.1"}},
			fails: map[string]dnsmessage.RCode{"broken.test": dnsmessage.RCodeServerFailure},
			mute:  map[string]bool{"mute.test": true},
		})
		for host, want := range map[string]bool{"near.test": true, "broken.test": false, "mute.test": false, "none.test": false} {
			near, err := c.Reach(context.Background(), "http://"+host+":"+port+"/private/s3cr3t")
			if (err == nil) != want || near != want || err != nil && strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("%s, open %v: near %v, %v", host, open, near, err)
			}
		}
	}
	listener.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, _, err := listener.ReadFrom(make([]byte, 9)); err == nil {
		t.Errorf("the host heard %d bytes", n)
	}
}
