package fetch

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// azureWire is the one well-known internal service that has a public address.
var azureWire = netip.MustParsePrefix("168.63.129.16/32")

// guard decides which addresses may be dialled: public ones on the ports 80, 443 and from 1024 up, and those of the
// networks that the user has opened, on any port.
type guard struct {
	public *ssrf.Guardian
	allow  []netip.Prefix
}

func newGuard(allow []netip.Prefix) *guard {
	g := &guard{public: ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(azureWire))}
	for _, p := range allow {
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		g.allow = append(g.allow, p.Masked())
	}
	return g
}

// refusal is the guard's no.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

// allowed says whether an address belongs to a network that the user has opened.
func (g *guard) allowed(addr netip.Addr) bool {
	addr = addr.Unmap()
	for _, p := range g.allow {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// check refuses an address and port that must not be dialled.
func (g *guard) check(addr netip.Addr, port uint16) error {
	addr = addr.Unmap()
	if g.allowed(addr.WithZone("")) {
		return nil
	}
	refuse := func(format string, what any) error {
		return &refusal{fmt.Sprintf(format+" (--allow-net %s/%d would open it)", what, addr.WithZone(""), addr.BitLen())}
	}
	if port != 80 && port != 443 && port < 1024 {
		return refuse("port %d is neither 80, 443 nor from 1024 up", port)
	}
	if g.public.SafeAddr(addr) != nil {
		return refuse("%s is not a public address", addr)
	}
	return nil
}

// checkURL refuses a canonical URL that could never be dialled, without asking a resolver.
func (g *guard) checkURL(u *url.URL) error {
	host := u.Hostname()
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		port = 443 // the scheme's own
	}
	addr, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		return g.check(addr, uint16(port))
	case host == "localhost" || strings.HasSuffix(host, ".localhost"):
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if g.allowed(netip.IPv6Loopback()) {
			return nil
		}
	case len(g.allow) > 0: // its address, and with it its port, is checked when it is dialled
		return nil
	default:
		addr = netip.AddrFrom4([4]byte{1, 1, 1, 1}) // any public address: only the port counts
	}
	if err := g.check(addr, uint16(port)); err != nil {
		return fmt.Errorf("%s: %w", host, err)
	}
	return nil
}

// control is a net.Dialer's ControlContext: it sees the address that is really dialled, after DNS, so neither rebinding nor
// a redirect leads around it. It leaves word of what was tried with the get that the context belongs to.
func (c *Client) control(ctx context.Context, network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return &refusal{"the address is not one of TCP"}
	}
	if err := c.guard.check(to.Addr(), to.Port()); err != nil {
		return err
	}
	if g, ok := ctx.Value(getKey{}).(*get); ok && c.guard.allowed(to.Addr()) {
		g.triedAllowed.Store(true)
	}
	return nil
}
