package crawl

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"crawl/crawl/fetch"
)

// That there is no route to one address says nothing of others; that there are no descriptors, no network or no resolver does.
func TestWhatIsAboutOneAddress(t *testing.T) {
	for _, tt := range []struct {
		kind  fetch.Kind
		errno syscall.Errno
		route bool
	}{
		{fetch.KindConnect, syscall.ENETUNREACH, true}, {fetch.KindConnect, syscall.EADDRNOTAVAIL, true}, {fetch.KindConnect, syscall.EPERM, true},
		{fetch.KindConnect, syscall.EMFILE, false}, {fetch.KindConnect, syscall.ENFILE, false}, {fetch.KindConnect, syscall.ENOMEM, false},
		{fetch.KindConnect, syscall.ENETDOWN, false}, {fetch.KindDNS, syscall.ENETUNREACH, false},
	} {
		failure := &fetch.Error{Kind: tt.kind, Local: true, Err: fmt.Errorf("dial: %w", os.NewSyscallError("connect", tt.errno))}
		if e := describeEvent(event{}, &observation{err: failure}); e.route != tt.route || !e.local || !e.silent {
			t.Errorf("%s, %v: %+v", tt.kind, tt.errno, e)
		}
	}
}
