package crawl

import (
	"context"
	"log/slog"
	"net/netip"
	"net/url"

	"crawl/crawl/fetch"
)

const (
	// reachWitnesses is how many other domains must be within reach for a few that are not to be the cause themselves: of one the resolver may
	// know the address from before.
	reachWitnesses = 3
	// reachKnown is among how many of the feeds that were read last they are looked for.
	reachKnown = 100
)

// reaches tells whether other domains are within reach, whose feeds were read last; they hear nothing of it. Those in networks that the user
// has opened say nothing of what is beyond. Without any other nothing is known, and the answer is no.
func (s *session) reaches(ctx context.Context, except map[string]bool) bool {
	if s.cfg.Fetch.Proxy != nil { // which resolves the names
		return false
	}
	known, err := s.store.LastRead(ctx, reachKnown)
	if err != nil {
		s.cfg.Log.Warn("whether other hosts are within reach cannot be found out", slog.Any("error", err))
		return false
	}
	seen, reached := map[string]bool{}, 0
	for _, address := range known {
		domain := fetch.Domain(address)
		if except[domain] || seen[domain] || !hasName(address) {
			continue
		}
		seen[domain] = true
		near, err := s.client.Reach(ctx, address)
		if near {
			continue
		}
		if err != nil {
			s.cfg.Log.Debug("another host is out of reach too", slog.Any("error", err))
			return false
		}
		if reached++; reached == reachWitnesses {
			break
		}
	}
	return reached > 0
}

// hasName tells whether a URL's host has a name, which needs a resolver.
func hasName(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	_, err = netip.ParseAddr(u.Hostname())
	return err != nil
}
