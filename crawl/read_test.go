package crawl

import (
	"context"
	"strings"
	"testing"

	"crawl/crawl/feed"
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
