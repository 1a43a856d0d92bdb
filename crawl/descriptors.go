package crawl

import (
	"log/slog"
	"syscall"
)

const (
	// ownDescriptors are those that the program needs beside its workers: database, lock, snapshots, standard streams.
	ownDescriptors = 24
	// workerDescriptors are those that a worker may need at a time: a connection, two questions to a resolver, its category's part.
	workerDescriptors = 4
)

// affordableWorkers is the number of workers that the limit of open files allows, at least one and at most what is set. More would
// fail for want of a descriptor, and look like a dead network.
func (s *session) affordableWorkers() int {
	want := s.cfg.Settings.Workers
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return want
	}
	can := workersWithin(uint64(limit.Cur), want)
	if can < want {
		s.cfg.Log.Info("fewer workers, for the limit of open files is low (ulimit -n)", slog.Uint64("limit", uint64(limit.Cur)), slog.Int("workers", can))
	}
	return can
}

func workersWithin(limit uint64, want int) int {
	if limit <= ownDescriptors+workerDescriptors {
		return 1
	}
	return int(min(uint64(want), (limit-ownDescriptors)/workerDescriptors))
}
