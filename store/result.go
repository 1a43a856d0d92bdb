package store

import "time"

// Item is one item as a result carries it.
type Item struct {
	Key         string      `json:"key"`
	GUID        string      `json:"guid,omitempty"`
	URL         string      `json:"url,omitempty"`
	Title       string      `json:"title,omitempty"`
	Author      string      `json:"author,omitempty"`
	Summary     string      `json:"summary,omitempty"`
	Content     string      `json:"content,omitempty"`
	CommentsURL string      `json:"comments_url,omitempty"`
	ImageURL    string      `json:"image_url,omitempty"`
	Language    string      `json:"language,omitempty"`
	Duration    int         `json:"duration,omitempty"`
	PublishedAt time.Time   `json:"published_at,omitzero"`
	UpdatedAt   time.Time   `json:"updated_at,omitzero"`
	Categories  []string    `json:"categories,omitempty"`
	Enclosures  []Enclosure `json:"enclosures,omitempty"`
	Hash        int64       `json:"hash"`
}

// Enclosure is an attached file.
type Enclosure struct {
	URL    string `json:"url"`
	Type   string `json:"type,omitempty"`
	Length int64  `json:"length,omitempty"`
}

// Outcomes of a fetch, as stored in fetches.outcome.
const (
	Changed   = "changed"   // a document was read that differs from the last (items may still all be known)
	Unchanged = "unchanged" // 304 or the same body
	Failed    = "failed"
	Throttled = "throttled"
	Gone      = "gone"
	Deferred  = "deferred" // left out by a cap or a 429 of its domain: no claim, nothing applied
	Left      = "left"     // no outcome when the category was closed: nothing applied
)

// Result is what one fetch means for a feed's row and its items: absolute new values, for a result is applied only while its
// token is the feed's current one, so that the row is as the claim saw it.
type Result struct {
	Outcome string    `json:"outcome"`
	At      time.Time `json:"at"`
	Hour    time.Time `json:"hour"`
	Feed    FeedState `json:"feed"`
	// Document is the new packed item hashes; nil: as it was.
	Document []byte `json:"document,omitempty"`
	Items    []Item `json:"items,omitempty"`
	// Keys are all keys of the document (of an unchanged feed: of its last one) in its order; only for ranked categories.
	Ranked bool     `json:"ranked,omitempty"`
	Keys   []string `json:"keys,omitempty"`
	// for the fetches table
	Status int    `json:"status,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	Millis int64  `json:"ms,omitempty"`
	Error  string `json:"error,omitempty"`
}

// FeedState is every column of a feed that an outcome may set. All are written, but for what is said below.
type FeedState struct {
	URL                 string        `json:"url"` // differs from the claim's: rewritten by a permanent redirect; the old one is kept as former
	Title               string        `json:"title,omitempty"`
	SiteURL             string        `json:"site_url,omitempty"`
	ImageURL            string        `json:"image_url,omitempty"` // "" leaves what is stored, as with Language
	Language            string        `json:"language,omitempty"`
	Schedule            string        `json:"schedule,omitempty"` // the document's own hints (ttl, skipHours, …); opaque to this room, column "schedule"
	Status              string        `json:"status"`
	StoppedReason       string        `json:"stopped_reason,omitempty"`
	ConsecutiveFailures int           `json:"failures,omitempty"`
	FailedHour          time.Time     `json:"failed_hour,omitzero"`
	LastError           string        `json:"last_error,omitempty"`
	LastErrorKind       string        `json:"last_error_kind,omitempty"`
	LastErrorAt         time.Time     `json:"last_error_at,omitzero"`
	LastWarning         string        `json:"last_warning,omitempty"`
	ETag                string        `json:"etag,omitempty"`
	LastModified        string        `json:"last_modified,omitempty"`
	ValidatorsURL       string        `json:"validators_url,omitempty"`
	BodyHash            int64         `json:"body_hash,omitempty"`
	LastFetchedAt       time.Time     `json:"last_fetched_at,omitzero"`
	LastSuccessAt       time.Time     `json:"last_success_at,omitzero"`
	LastChangedAt       time.Time     `json:"last_changed_at,omitzero"` // the merge moves it by itself when items changed
	NextFetchAt         time.Time     `json:"next_fetch_at,omitzero"`
	RetryAfterUntil     time.Time     `json:"retry_after_until,omitzero"`
	FetchedHour         time.Time     `json:"fetched_hour,omitzero"`
	Interval            time.Duration `json:"interval,omitempty"`
	KeyRule             int           `json:"key_rule,omitempty"` // 0 leaves what is stored; differs from the row's: its items are re-keyed in this transaction
	RedirectURL         string        `json:"redirect_url,omitempty"`
	RedirectSeen        int           `json:"redirect_seen,omitempty"`
	RedirectSince       time.Time     `json:"redirect_since,omitzero"`
}
