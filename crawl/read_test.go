package crawl

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawl/crawl/feed"
	"crawl/crawl/fetch"
	"crawl/store"
)

// A page that repeats its address in its title does not bring a token into last_error.
func TestMessagesDoNotRepeatAddresses(t *testing.T) {
	address := "https://h.example/private/s3cr3t%20token/feed.xml?key=another-token&n=1"
	for _, echoed := range []string{"/private/s3cr3t%20token/feed.xml?key=another-token&n=1", "s3cr3t token", "another-token", "/private/s3cr3t token/feed.xml"} {
		body := "<html><head><title>Nothing at " + echoed + "</title></head></html>"
		for _, d := range []feed.Document{{Body: []byte(body), URL: address}, {Body: []byte(body), URL: "https://elsewhere.example/login"}} {
			_, err := read(context.Background(), d, address)
			if err == nil || strings.Contains(err.Error(), "token") || !strings.Contains(err.Error(), "Nothing at ") {
				t.Errorf("%s: %v", echoed, err)
			}
		}
	}
	if got := conceal("No such feed at /feed", "https://h.example/feed"); got != "No such feed at /feed" {
		t.Errorf("a short path is taken for a secret: %s", got)
	}
}

// A reader that hangs costs its own feed its patience, and the end of a run only a moment, however many there are one after the other.
func TestAReaderThatHangsIsAbandoned(t *testing.T) {
	hang := func() (*feed.Feed, error) {
		time.Sleep(time.Hour)
		return nil, nil
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := readWithin(nil, hang)
		if e := (*feed.Error)(nil); !r.abandoned || !errors.As(r.err, &e) || e.Kind != feed.KindParse || time.Since(began) != readPatience {
			t.Errorf("after %v: %+v", time.Since(began), r)
		}
		cut, end := context.WithCancel(t.Context())
		began = time.Now()
		time.AfterFunc(time.Second, end)
		over := endOfPatience(cut)
		for range 5 {
			if r := readWithin(over, hang); !r.abandoned || r.err != nil || time.Since(began) != time.Second+stopPatience {
				t.Errorf("after %v: %+v", time.Since(began), r)
			}
		}
		quick := readWithin(nil, func() (*feed.Feed, error) { return &feed.Feed{Count: 1}, nil })
		if quick.abandoned || quick.err != nil || quick.doc.Count != 1 {
			t.Errorf("%+v", quick)
		}
		time.Sleep(2 * time.Hour)
	})
}

// A document that finds no place to be read in before the end of a run's patience is given up, and its feed stays due.
func TestNoPlaceToReadIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		p := &pool{s: &session{}, parsing: make(chan struct{}), over: endOfPatience(ctx)}
		time.AfterFunc(time.Second, end)
		began, f := time.Now(), &finished{task: &task{}, claim: &store.Claim{}}
		p.finish(ctx, f, &fetch.Response{Status: 200, Body: []byte("<rss/>")}, nil, time.Now())
		if f.what != cut || f.abandoned || time.Since(began) != time.Second+stopPatience {
			t.Errorf("after %v: fate %v, abandoned %v", time.Since(began), f.what, f.abandoned)
		}
	})
}
