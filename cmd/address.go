package cmd

import (
	"errors"
	"fmt"
	"strings"

	"crawl/crawl/fetch"
	"crawl/store"
)

// address is a feed's address as it is stored, and the credentials that were in it.
type address struct{ url, user, password string }

// address checks what a person typed; "" stays "".
func (a *app) address(typed string) (address, error) {
	if typed == "" {
		return address{}, nil
	}
	client, err := a.client()
	if err != nil {
		return address{}, err
	}
	defer client.Close()
	return checkAddress(client, typed)
}

// checkAddress normalizes an address and refuses by name what could never be fetched.
func checkAddress(client *fetch.Client, typed string) (address, error) {
	clean, user, password, err := fetch.Normalize(typed)
	if err == nil {
		err = client.CheckURL(clean)
	}
	return address{clean, user, password}, err
}

// keepCredentials puts the user and password of a new address, if it has any, into the feed's settings, apart from the URL.
func (to address) keepCredentials(s *store.FeedSettings) {
	if to.user != "" || to.password != "" {
		s.User, s.Password = to.user, to.password
	}
}

// feedName names a feed in a message: by id and host, never by a URL that may hold a secret.
func feedName(f store.Feed) string { return fmt.Sprintf("feed %d (%s)", f.ID, fetch.Redact(f.URL)) }

// titledName names a feed so that a person knows it among others of its host.
func titledName(f store.Feed) string {
	title := ""
	if f.Title != "" {
		title = fmt.Sprintf(" %q", f.Title)
	}
	return fmt.Sprintf("feed %d%s in %s (%s)", f.ID, title, f.Category, fetch.Redact(f.URL))
}

// addressName names an address that a person typed in the same way; one that cannot be read is only "it".
func addressName(typed string) string {
	clean, _, _, err := fetch.Normalize(typed)
	if err != nil {
		return "an address"
	}
	return fetch.Redact(clean)
}

// hintAtScheme adds to a failed fetch of an address as it was typed that its https was our guess, where that may be what failed.
func hintAtScheme(err error, typed string) error {
	var fetched *fetch.Error
	clean, _, _, unread := fetch.Normalize(typed)
	own := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(typed)), "feed:")
	if unread != nil || !strings.HasPrefix(clean, "https:") || strings.HasPrefix(own, "https:") || !errors.As(err, &fetched) {
		return err
	}
	ofAnother := fetched.Answered || fetched.Local || !strings.HasPrefix(err.Error(), fetch.Redact(clean)+": ")
	if ofAnother || fetched.Kind != fetch.KindTLS && fetched.Kind != fetch.KindConnect {
		return err
	}
	return &hintedError{err, "https was assumed; write http://... if the site has no TLS"}
}

// typedWithout is an address as it was typed, without user and password.
func typedWithout(typed string) string {
	typed = strings.TrimSpace(typed)
	before, after := "", typed
	if scheme, rest, found := strings.Cut(typed, "://"); found {
		before, after = scheme+"://", rest
	}
	authority := after
	if _, _, _, err := fetch.Normalize(typed); err == nil { // else nobody knows where what ends
		if end := strings.IndexAny(after, "/?#"); end >= 0 {
			authority = after[:end]
		}
	}
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		after = after[at+1:]
	}
	return before + after
}
