package state

import (
	"errors"
	"io/fs"
	"os"
)

// sessionsName is the file of TLS sessions: a cache, whose loss costs time alone.
const sessionsName = "tls-sessions"

// maxSessionsFile is the most bytes that Sessions reads.
const maxSessionsFile = 64 << 20

// Sessions returns what KeepSessions stored, nil if that is nothing.
func (d *Dir) Sessions() ([]byte, error) {
	path := d.file(sessionsName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || info.Size() > maxSessionsFile) {
		return nil, nil
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, explain("read TLS sessions", path, err)
	}
	return data, nil
}

// KeepSessions stores TLS sessions for the next run.
func (d *Dir) KeepSessions(data []byte) error { return writeFile(d.file(sessionsName), data) }
