package state

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"crawl/state/files"
)

// temporary begins the name of every file that is not yet what it will be.
const temporary = ".tmp-"

// writeFile replaces a file as a whole, atomically and durably (0600). After an error the new content may be there or
// not, but never a part of it.
//
// Commands beside a run write too, and the run's start sweeps temporaries: one that was swept away is written again.
func writeFile(path string, data []byte) error {
	var err error
	for range 3 {
		if err = tryWriteFile(path, data); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return explain("write", path, err)
	}
	return nil
}

func tryWriteFile(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), temporary+"*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // after the rename there is nothing left of that name
	files.Give(file)
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return files.SyncDir(filepath.Dir(path))
}

// writeJSON is writeFile of a value in JSON.
func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return explain("encode", path, err)
	}
	return writeFile(path, append(data, '\n'))
}

// removeFile removes a file durably. A missing one is fine.
func removeFile(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = files.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return explain("take away", path, err)
	}
	return nil
}

// sweep removes what a crash left behind: temporaries, and parts that a power cut left without a whole header, which
// hold nothing. Only the holder of the run lock may, for nobody else writes parts.
func (d *Dir) sweep() {
	for _, dir := range []string{d.Path, d.snapshots()} {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			path := filepath.Join(dir, entry.Name())
			if strings.HasPrefix(entry.Name(), temporary) || dir != d.Path && strings.HasSuffix(path, partExt) && void(path) {
				os.Remove(path)
			}
		}
	}
}

// aside moves a file to snapshots/bad/ under a name that is not taken, and returns that; "" for a missing file, which is fine.
func (d *Dir) aside(path string) (string, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	bad := filepath.Join(d.snapshots(), "bad")
	for _, dir := range []string{d.snapshots(), bad} {
		if err := makeDir(dir); err != nil {
			return "", err
		}
	}
	target := filepath.Join(bad, filepath.Base(path)+"-"+strings.ToLower(rand.Text()[:8]))
	if err := os.Rename(path, target); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return target, nil
}

// explain wraps an error with what was being done and to which file: named once, and not by its temporary name. What can be done about
// it is for cmd to say.
func explain(doing, path string, err error) error {
	var on *fs.PathError
	if errors.As(err, &on) && (on.Path == path || strings.HasPrefix(filepath.Base(on.Path), temporary)) {
		err = on.Err
	}
	return fmt.Errorf("%s %s: %w", doing, path, err)
}
