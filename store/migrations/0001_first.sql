-- Times are RFC 3339 UTC text in whole seconds; what is unknown is NULL, never ''. store/README.md explains each column.

CREATE TABLE meta (
	one   INTEGER PRIMARY KEY CHECK (one = 1),
	epoch INTEGER NOT NULL
) STRICT;

-- A random number, so that two databases are never taken for one.
INSERT INTO meta (one, epoch) VALUES (1, 1 + abs(random() % 1000000000));

CREATE TABLE categories (
	id     INTEGER PRIMARY KEY AUTOINCREMENT,
	name   TEXT    NOT NULL UNIQUE,
	ranked INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE feeds (
	id                   INTEGER PRIMARY KEY AUTOINCREMENT,
	category_id          INTEGER NOT NULL REFERENCES categories (id),
	url                  TEXT    NOT NULL UNIQUE,
	status               TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'stopped')),
	stopped_reason       TEXT,
	stopped_at           TEXT,
	lease_owner          TEXT,
	lease_boot           TEXT,
	lease_until          TEXT,
	lease_token          INTEGER NOT NULL DEFAULT 0,
	merged_token         INTEGER NOT NULL DEFAULT 0,
	previous_attempt_at  TEXT,
	last_attempt_at      TEXT,
	last_fetched_at      TEXT,
	last_success_at      TEXT,
	last_changed_at      TEXT,
	next_fetch_at        TEXT,
	retry_after_until    TEXT,
	fetched_hour         TEXT,
	interval_seconds     INTEGER,
	consecutive_failures INTEGER NOT NULL DEFAULT 0,
	failed_hour          TEXT,
	last_error           TEXT,
	last_error_kind      TEXT,
	last_error_at        TEXT,
	last_warning         TEXT,
	etag                 TEXT,
	last_modified        TEXT,
	validators_url       TEXT,
	body_hash            INTEGER,
	key_rule             INTEGER,
	redirect_url         TEXT,
	redirect_seen        INTEGER NOT NULL DEFAULT 0,
	redirect_since       TEXT,
	own_title            TEXT,
	title                TEXT,
	site_url             TEXT,
	image_url            TEXT,
	language             TEXT,
	schedule             TEXT,
	settings             TEXT,
	added_at             TEXT    NOT NULL
) STRICT;

CREATE INDEX feeds_category ON feeds (category_id);

CREATE TABLE former_urls (
	url     TEXT    PRIMARY KEY,
	feed_id INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX former_urls_feed ON former_urls (feed_id);

CREATE TABLE documents (
	feed_id     INTEGER PRIMARY KEY REFERENCES feeds (id) ON DELETE CASCADE,
	item_hashes BLOB    NOT NULL
) STRICT;

CREATE TABLE items (
	id              INTEGER PRIMARY KEY AUTOINCREMENT,
	feed_id         INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
	key             TEXT    NOT NULL,
	hash            INTEGER NOT NULL,
	seq             INTEGER NOT NULL,
	first_seen_at   TEXT    NOT NULL,
	changed_at      TEXT    NOT NULL,
	published_at    TEXT,
	updated_at      TEXT,
	guid            TEXT,
	url             TEXT,
	title           TEXT,
	author          TEXT,
	comments_url    TEXT,
	image_url       TEXT,
	language        TEXT,
	duration        INTEGER,
	categories      TEXT,
	enclosures      TEXT,
	text_changes    INTEGER NOT NULL DEFAULT 0,
	text_changed_at TEXT,
	UNIQUE (feed_id, key)
) STRICT;

CREATE TABLE contents (
	item_id INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
	summary TEXT,
	content TEXT
) STRICT;

CREATE TABLE changes (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	at      TEXT    NOT NULL,
	item_id INTEGER NOT NULL,
	feed_id INTEGER NOT NULL,
	kind    TEXT    NOT NULL CHECK (kind IN ('new', 'updated', 'removed')),
	columns TEXT    NOT NULL
) STRICT;

CREATE TABLE positions (
	item_id  INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
	hour     TEXT    NOT NULL,
	feed_id  INTEGER NOT NULL,
	position INTEGER NOT NULL,
	PRIMARY KEY (item_id, hour)
) STRICT, WITHOUT ROWID;

CREATE INDEX positions_feed ON positions (feed_id, hour);

CREATE TABLE merged (
	host        TEXT    NOT NULL,
	category_id INTEGER NOT NULL,
	hour        TEXT    NOT NULL,
	snapshot    TEXT    NOT NULL,
	PRIMARY KEY (host, category_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
	id                 INTEGER PRIMARY KEY AUTOINCREMENT,
	host               TEXT    NOT NULL,
	kind               TEXT    NOT NULL,
	hour               TEXT    NOT NULL,
	started_at         TEXT    NOT NULL,
	finished_at        TEXT,
	outcome            TEXT,
	reason             TEXT,
	categories_done    INTEGER NOT NULL DEFAULT 0,
	categories_skipped INTEGER NOT NULL DEFAULT 0,
	categories_left    INTEGER NOT NULL DEFAULT 0,
	feeds_fetched      INTEGER NOT NULL DEFAULT 0,
	feeds_changed      INTEGER NOT NULL DEFAULT 0,
	feeds_unchanged    INTEGER NOT NULL DEFAULT 0,
	feeds_failed       INTEGER NOT NULL DEFAULT 0,
	feeds_throttled    INTEGER NOT NULL DEFAULT 0,
	feeds_deferred     INTEGER NOT NULL DEFAULT 0,
	feeds_left         INTEGER NOT NULL DEFAULT 0,
	feeds_stopped      INTEGER NOT NULL DEFAULT 0,
	items_new          INTEGER NOT NULL DEFAULT 0,
	items_updated      INTEGER NOT NULL DEFAULT 0,
	requests           INTEGER NOT NULL DEFAULT 0,
	answers            INTEGER NOT NULL DEFAULT 0,
	bytes              INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE fetches (
	feed_id INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
	run_id  INTEGER NOT NULL,
	at      TEXT    NOT NULL,
	outcome TEXT    NOT NULL,
	status  INTEGER,
	bytes   INTEGER NOT NULL,
	ms      INTEGER NOT NULL,
	new     INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	error   TEXT,
	PRIMARY KEY (feed_id, run_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE steps (
	host        TEXT    NOT NULL,
	name        TEXT    NOT NULL,
	hour        TEXT    NOT NULL,
	finished_at TEXT,
	seq         INTEGER NOT NULL,
	error       TEXT,
	PRIMARY KEY (host, name, hour)
) STRICT, WITHOUT ROWID;
