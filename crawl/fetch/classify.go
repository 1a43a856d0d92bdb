package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
)

// classify turns the transport's error into ours. The transport's texts hold bytes that the server chose, so none of them is passed
// on.
func (g *get) classify(err error) error {
	if ended := g.ended(); ended != nil {
		return ended
	}
	for _, judge := range []func(error) *Error{
		g.timeLimit, g.refusedStream, g.addressFailure, g.proxyFailure, g.dnsFailure, g.tlsFailure, g.timeout, g.connectFailure,
	} {
		if e := judge(err); e != nil {
			return e
		}
	}
	return g.fail(KindMalformed, "the answer is not well-formed HTTP, or its header is over "+size(maxHeader), err)
}

func (g *get) timeLimit(err error) *Error {
	if errors.Is(context.Cause(g.ctx), errTotal) {
		return g.fail(KindTimeout, "no answer within "+g.c.o.Timeout.String(), err)
	}
	return nil
}

func (g *get) refusedStream(err error) *Error {
	if errors.Is(context.Cause(g.ctx), errAgain) {
		return g.fail(KindConnect, "the server refused the request", err)
	}
	return nil
}

func (g *get) addressFailure(err error) *Error {
	var r *refusal
	if errors.As(err, &r) {
		return g.fail(KindAddress, r.Error(), err)
	}
	return nil
}

// dnsFailure tells the name's own trouble from the resolver's. That a resolver could not be reached is certainly ours. That it
// said nothing, or that it failed, is either's: ours if it has answered nobody since this GET began.
func (g *get) dnsFailure(err error) *Error {
	var d *net.DNSError
	if !errors.As(err, &d) {
		return nil
	}
	var e *Error
	switch silent := g.c.resolved.Load() < g.sequence; {
	case d.IsNotFound:
		e = g.fail(KindDNS, "there is no such host", err)
	case d.IsTimeout:
		e = g.fail(KindDNS, "the resolver did not answer", err)
		e.Local = silent
	case d.IsTemporary && (d.Err == "server misbehaving" || d.Err == "Temporary failure in name resolution"):
		// It answered SERVFAIL; the C library says the same where it could not ask.
		e = g.fail(KindDNS, "the resolver could not resolve the name", err)
		e.Local = silent
	case d.IsTemporary:
		e = g.fail(KindDNS, "the resolver cannot be reached", err)
		e.Local = true
	default:
		e = g.fail(KindDNS, "the name cannot be resolved", err)
	}
	return e
}

// noteResolver remembers that the resolver answered.
func (g *get) noteResolver(err error) {
	at := g.url
	if g.proxied {
		at, _ = g.transport.Proxy(nil) // http.ProxyURL's, which looks at no request
	}
	if _, literal := netip.ParseAddr(at.Hostname()); literal == nil {
		return
	}
	var d *net.DNSError
	if !errors.As(err, &d) || d.IsNotFound {
		g.c.resolved.Store(g.c.sequence.Add(1))
	}
}

func (g *get) proxyFailure(err error) *Error {
	var p *proxyError
	if errors.As(err, &p) {
		return g.fail(KindConnect, p.Error(), err)
	}
	var op *net.OpError
	switch {
	case !errors.As(err, &op):
	case op.Op == "proxyconnect":
		proxy := g.r.Proxy
		if proxy == "" && g.c.o.Proxy != nil {
			proxy = g.c.o.Proxy.String()
		}
		e := g.fail(KindConnect, "no connection to the proxy "+clean(Redact(proxy)), err)
		e.Proxy = g.r.Proxy == ""
		e.Local = g.r.Proxy == "" || g.oursOnTheWay(err) // a feed's own is the feed's trouble, if it could be asked at all
		return e
	case strings.HasPrefix(op.Op, "socks"):
		return g.fail(KindConnect, "no connection through the proxy", err)
	}
	return nil
}

// oursOnTheWay tells whether a connection failed through this machine or its resolver.
func (g *get) oursOnTheWay(err error) bool {
	if e := g.dnsFailure(err); e != nil {
		return e.Local
	}
	return oursIn(err) != 0
}

// tlsFailure explains why there is no trustworthy TLS.
func (g *get) tlsFailure(err error) *Error {
	var (
		host    x509.HostnameError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
	)
	why := ""
	switch {
	case errors.As(err, &host):
		why = "the certificate is for another host"
	case errors.As(err, &unknown):
		why = "the certificate is signed by an unknown authority"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		why = "the certificate has expired or is not yet valid"
	case errors.As(err, &invalid), errors.As(err, &verify):
		why = "the certificate is not valid"
	case errors.As(err, &record):
		why = "what answers there does not speak TLS"
	case errors.As(err, &alert):
		why = "the server ended the TLS handshake (" + clean(alert.Error()) + ")"
	case strings.HasPrefix(err.Error(), "tls: "), strings.HasPrefix(err.Error(), "remote error: tls: "):
		why = "the TLS handshake failed"
	default:
		return nil
	}
	return g.fail(KindTLS, why, err)
}

// timeout explains time-outs other than the whole GET's.
func (g *get) timeout(err error) *Error {
	var t interface{ Timeout() bool }
	if !errors.As(err, &t) || !t.Timeout() {
		return nil
	}
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		return g.fail(KindTimeout, "no connection within "+g.c.o.ConnectTimeout.String(), err)
	case strings.Contains(err.Error(), "TLS handshake"):
		return g.fail(KindTimeout, "no TLS handshake within "+g.c.o.ConnectTimeout.String(), err)
	}
	return g.fail(KindTimeout, "no answer within "+g.c.o.HeaderTimeout.String(), err)
}

// ours are the errors by which the kernel says that the trouble is on this machine.
var ours = []syscall.Errno{
	syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS,
	syscall.ENOMEM, syscall.EPERM, syscall.EACCES,
}

// oursIn finds one of ours in an error, 0 if there is none.
func oursIn(err error) syscall.Errno {
	for _, errno := range ours {
		if errors.Is(err, errno) {
			return errno
		}
	}
	return 0
}

func (g *get) connectFailure(err error) *Error {
	if errno := oursIn(err); errno != 0 {
		e := g.fail(KindConnect, errno.Error()+" (on this machine)", err)
		e.Local = true
		return e
	}
	var op *net.OpError
	var errno syscall.Errno
	switch {
	case errors.As(err, &op) && op.Op == "dial" && errors.As(err, &errno):
		return g.fail(KindConnect, errno.Error(), err)
	case errors.As(err, &op) && op.Op == "dial":
		return g.fail(KindConnect, "no connection", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed), strings.HasPrefix(err.Error(), "stream error: "),
		strings.HasPrefix(err.Error(), "http2: server sent GOAWAY"), strings.HasPrefix(err.Error(), "http2: Transport received GOAWAY"),
		strings.HasPrefix(err.Error(), "http2: client connection lost"):
		return g.fail(KindConnect, "the server closed the connection without an answer", err)
	}
	return nil
}

// statusText is a status for a person. The server's own phrase is not repeated.
func statusText(status int) string {
	if text := http.StatusText(status); text != "" {
		return strconv.Itoa(status) + " " + text
	}
	return strconv.Itoa(status)
}
