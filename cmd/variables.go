package cmd

import (
	"log/slog"
	"slices"
	"strings"
)

// hookVariables are those that a hook is given: a crawl that it calls has them without meaning anything by them.
var hookVariables = []string{"CRAWL_HOUR", "CRAWL_RUN", "CRAWL_NEW", "CRAWL_UPDATED", "CRAWL_REMOVED", "CRAWL_SEQ_AFTER", "CRAWL_SEQ", "CRAWL_EPOCH"}

// warnOfVariables warns of each variable that looks like a setting and is none.
func (a *app) warnOfVariables() {
	if a.environ == nil {
		return
	}
	var known []string
	for _, s := range settingList() {
		known = append(known, variable(s.name))
	}
	for _, line := range a.environ() {
		name, _, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, "CRAWL_") || strings.HasPrefix(name, "CRAWL_TEST_") || slices.Contains(known, name) || slices.Contains(hookVariables, name) {
			continue
		}
		attributes := []any{slog.String("name", name)}
		if near := didYouMeanExactly(name, known); near != "" {
			attributes = append(attributes, slog.String("hint", near))
		}
		a.log.Warn("a variable is no setting", attributes...)
	}
}
