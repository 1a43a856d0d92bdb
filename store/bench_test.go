package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Benchmarks report CPU of the whole process, user and system, beside the wall time.

const (
	chunk   = 100 // feeds a merge
	batch50 = 50  // feeds a claim
)

func cpu() time.Duration {
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// claimAll claims feeds in batches, as a run does.
func claimAll(b *testing.B, s *Store, ids []int64, now time.Time) []Claim {
	b.Helper()
	claims := make([]Claim, 0, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), batch50)
		claims = append(claims, claimAt(b, s, now, ids[:n]...)...)
		ids = ids[n:]
	}
	return claims
}

func mergeAll(b *testing.B, s *Store, entries []Entry, now time.Time) (total Merged) {
	b.Helper()
	for len(entries) > 0 {
		n := min(len(entries), chunk)
		total.add(merge1(b, s, now, entries[:n]...))
		entries = entries[n:]
	}
	return total
}

// realistic is an item of the size that feeds have: about 1 KB of text.
func realistic(feed int64, n, version int) Item {
	url := fmt.Sprintf("https://%d.example/2026/11/post-number-%d-with-a-long-slug", feed, n)
	return Item{
		Key:         "g:" + url,
		GUID:        url,
		URL:         url,
		Title:       fmt.Sprintf("Post number %d of feed %d, version %d", n, feed, version),
		Author:      "Some Body",
		Summary:     strings.Repeat("A summary of it. ", 10),
		Content:     strings.Repeat("Lorem ipsum dolor sit amet. ", 30),
		PublishedAt: t0.Add(-time.Duration(n) * time.Hour),
		Categories:  []string{"one", "two"},
		Hash:        feed<<20 + int64(n)<<8 + int64(version),
	}
}

// hashesOf packs item hashes as a reader would, 8 bytes each.
func hashesOf(items []Item) []byte {
	b := make([]byte, 0, 8*len(items))
	for _, it := range items {
		b = binary.LittleEndian.AppendUint64(b, uint64(it.Hash))
	}
	return b
}

// fill stores feeds with items and returns the ids. Before the items that a feed shows now, it has history: $CRAWL_BENCH_HISTORY
// older ones, with little text.
func fill(b *testing.B, s *Store, feeds, items int, now time.Time) []int64 {
	b.Helper()
	history := envNumber(os.Getenv("CRAWL_BENCH_HISTORY"), 0)
	ids := addFeeds(b, s, feeds, "bench")
	for rest := ids; len(rest) > 0; {
		n := min(len(rest), chunk)
		entries := coldEntries(claimAll(b, s, rest[:n], now), items, now)
		for i := range entries {
			r := &entries[i].Result
			for n := range history {
				it := realistic(entries[i].FeedID, items+n, 0)
				it.Summary, it.Content = "", it.Content[:100]
				r.Items = append(r.Items, it)
			}
		}
		mergeAll(b, s, entries, now)
		rest = rest[n:]
	}
	return ids
}

func coldEntries(claims []Claim, items int, now time.Time) []Entry {
	entries := make([]Entry, len(claims))
	for i, c := range claims {
		list := make([]Item, items)
		for n := range list {
			list[n] = realistic(c.ID, n, 0)
		}
		entries[i] = success(c, now, list...)
		entries[i].Result.Document = hashesOf(list)
		entries[i].Result.Keys = nil
	}
	return entries
}

func BenchmarkClaim10000(b *testing.B) {
	s := newStore(b)
	ids := addFeeds(b, s, 10_000, "bench")
	now := t0
	var used time.Duration
	for b.Loop() {
		begin := cpu()
		claims := claimAll(b, s, ids, now)
		used += cpu() - begin
		if len(claims) != len(ids) {
			b.Fatalf("claimed %d", len(claims))
		}
		now = now.Add(time.Hour)
	}
	b.ReportMetric(float64(used.Microseconds())/float64(b.N*len(ids)), "cpu-µs/feed")
}

func BenchmarkColdInsert(b *testing.B) {
	const feeds, items = 1000, 30
	var used time.Duration
	for b.Loop() {
		b.StopTimer()
		s := newStore(b)
		entries := coldEntries(claimAll(b, s, addFeeds(b, s, feeds, "bench"), t0), items, t0)
		b.StartTimer()
		begin := cpu()
		m := mergeAll(b, s, entries, t0)
		used += cpu() - begin
		if m.New != feeds*items {
			b.Fatalf("%+v", m)
		}
		b.StopTimer()
		s.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(used.Nanoseconds())/1000/float64(b.N*feeds*items), "cpu-µs/item")
}

// BenchmarkHour304 is an hour in which no feed has anything new: claim and merge.
func BenchmarkHour304(b *testing.B) {
	const feeds = 10_000
	s := newStore(b)
	ids := fill(b, s, feeds, 1, t0)
	now := t0
	var used time.Duration
	for b.Loop() {
		now = now.Add(time.Hour)
		begin := cpu()
		claims := claimAll(b, s, ids, now)
		entries := make([]Entry, len(claims))
		for i, c := range claims {
			entries[i] = notModified(c, now)
		}
		m := mergeAll(b, s, entries, now)
		used += cpu() - begin
		if m.Applied != feeds {
			b.Fatalf("%+v", m)
		}
	}
	b.ReportMetric(float64(used.Nanoseconds())/1000/float64(b.N*feeds), "cpu-µs/feed")
}

// BenchmarkMergeOnePercent is an hour in which 1 % of all rows changed: the feeds' packed hashes are compared as the reader of a
// feed does it, and only what differs goes to the merge. All rows count as offered.
func BenchmarkMergeOnePercent(b *testing.B) {
	const items, hourly = 25, 10_000
	feeds := benchFeeds()
	s := newStore(b)
	ids := fill(b, s, feeds, items, t0)
	visited := ids[:min(len(ids), hourly)]
	now := t0
	var used time.Duration
	for round := 1; b.Loop(); round++ {
		b.StopTimer()
		now = now.Add(time.Hour)
		claims := claimAll(b, s, visited, now)
		b.StartTimer()
		begin := cpu()
		m := mergeAll(b, s, changedEntries(b, s, claims, items, round, now), now)
		used += cpu() - begin
		if m.Updated != len(visited)*items/100 {
			b.Fatalf("%+v", m)
		}
	}
	b.ReportMetric(float64(b.N*len(visited)*items)/used.Seconds(), "rows/cpu-s")
	b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/hour")
}

// changedEntries compares each feed's offered hashes with its stored ones; every fourth feed has one new version of an item.
func changedEntries(b *testing.B, s *Store, claims []Claim, items, round int, now time.Time) []Entry {
	entries := make([]Entry, len(claims))
	offered := make([]int64, items)
	for i, c := range claims {
		stored, err := s.Document(context.Background(), c.ID)
		if err != nil {
			b.Fatal(err)
		}
		for n := range offered {
			offered[n] = int64(binary.LittleEndian.Uint64(stored[8*n:]))
		}
		if i%4 == 0 {
			n := (i + round) % items
			offered[n] = c.ID<<20 + int64(n)<<8 + int64(round)
		}
		known := make(map[int64]bool, items)
		for n := range items {
			known[int64(binary.LittleEndian.Uint64(stored[8*n:]))] = true
		}
		var list []Item
		for n, hash := range offered {
			if !known[hash] {
				list = append(list, realistic(c.ID, n, round))
			}
		}
		if len(list) == 0 {
			entries[i] = notModified(c, now)
			continue
		}
		entries[i] = success(c, now, list...)
		document := make([]byte, 0, 8*items)
		for _, hash := range offered {
			document = binary.LittleEndian.AppendUint64(document, uint64(hash))
		}
		entries[i].Result.Document = document
	}
	return entries
}

// BenchmarkOpen is what every command pays: open, read the categories and the merged snapshots, close.
func BenchmarkOpen(b *testing.B) {
	path := pathOf(b, newStoreFast(b))
	ctx := context.Background()
	for b.Loop() {
		s, err := Open(ctx, path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Categories(ctx); err != nil {
			b.Fatal(err)
		}
		if _, err := s.MergedSnapshots(ctx, "host"); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLists is what list and status pay with many items stored.
func BenchmarkLists(b *testing.B) {
	s := newStore(b)
	fill(b, s, benchFeeds(), 25, t0)
	ctx := context.Background()
	b.Run("Feeds", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Feeds(ctx, Filter{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("NewestItems", func(b *testing.B) {
		for b.Loop() {
			for _, err := range s.Items(ctx, ItemFilter{Limit: 50, Category: "bench"}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("ChangesAfter", func(b *testing.B) {
		highest, err := s.HighestSeq(ctx)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			for _, err := range s.Items(ctx, ItemFilter{ByChange: true, After: highest - 1000}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("Candidates", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Candidates(ctx, 1, dueAt(t0.Add(time.Hour))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("RenewLeases", func(b *testing.B) {
		for b.Loop() {
			if err := s.RenewLeases(ctx, owner, t0); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchFeeds is the number of feeds that are stored: $CRAWL_BENCH_FEEDS, or 10,000.
func benchFeeds() int { return envNumber(os.Getenv("CRAWL_BENCH_FEEDS"), 10_000) }

func envNumber(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return otherwise
}
