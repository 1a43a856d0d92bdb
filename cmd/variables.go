package cmd

import (
	"log/slog"
	"slices"
	"strings"

	"crawl/crawl"
)

// warnOfVariables warns of each variable that looks like a setting and is none. A crawl that a hook calls has the hook's variables
// without meaning anything by them.
func (a *app) warnOfVariables() {
	if a.environ == nil {
		return
	}
	var known []string
	for _, s := range settingList() {
		known = append(known, variable(s.name))
	}
	harmless := append(crawl.HookVariables(), known...)
	for _, line := range a.environ() {
		name, _, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, "CRAWL_") || strings.HasPrefix(name, "CRAWL_TEST_") || slices.Contains(harmless, name) {
			continue
		}
		attributes := []any{slog.String("name", name)}
		if near := didYouMeanExactly(name, known); near != "" {
			attributes = append(attributes, slog.String("hint", near))
		}
		a.log.Warn("a variable is no setting", attributes...)
	}
}
