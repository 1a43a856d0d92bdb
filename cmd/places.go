package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// dataDirectory is --dir, else $CRAWL_DIR, else $XDG_DATA_HOME/crawl, else ~/.local/share/crawl.
func dataDirectory(flags, vars source, env func(string) (string, bool)) (string, error) {
	for _, from := range []source{flags, vars} {
		if dir := strings.Join(from["dir"].texts, ""); dir != "" {
			return filepath.Abs(dir)
		}
	}
	return userDirectory(env, "XDG_DATA_HOME", ".local/share")
}

// placeVariables are the variables but for settings other than the directory.
func (p program) placeVariables(name string) (string, bool) {
	if strings.HasPrefix(name, "CRAWL_") && name != variable("dir") {
		return "", false
	}
	return p.env(name)
}

// configFile is --config, else $CRAWL_CONFIG, else crawl.toml in the data directory, else in $XDG_CONFIG_HOME/crawl; "" if
// there is none. A file that was named must be there.
func configFile(dir string, flags, vars source, env func(string) (string, bool)) (string, error) {
	for _, from := range []source{flags, vars} {
		if path := strings.Join(from["config"].texts, ""); path != "" {
			return filepath.Abs(path)
		}
	}
	candidates := []string{directorySettings(dir)}
	if user, err := userDirectory(env, "XDG_CONFIG_HOME", ".config"); err == nil {
		candidates = append(candidates, filepath.Join(user, "crawl.toml"))
	}
	for _, path := range candidates {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", nil
}

// directorySettings is the settings file of a data directory.
func directorySettings(dir string) string { return filepath.Join(dir, "crawl.toml") }

// userDirectory is crawl's place below one of the XDG directories. A relative one is invalid and ignored (XDG Base Directory
// Specification, "Environment variables").
func userDirectory(env func(string) (string, bool), xdg, below string) (string, error) {
	if base, _ := env(xdg); filepath.IsAbs(base) {
		return filepath.Join(base, "crawl"), nil
	}
	home, _ := env("HOME")
	if !filepath.IsAbs(home) {
		return "", &usageError{errors.New("there is no home directory to keep the data in"), "name a directory by --dir or the variable CRAWL_DIR"}
	}
	return filepath.Join(home, below, "crawl"), nil
}
