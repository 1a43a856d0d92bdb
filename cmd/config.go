package cmd

import (
	"context"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

func newConfig(p program) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "print the settings in force, and where each comes from",
		Long: `config prints the settings in force, and where each comes from. Every setting has one name: flag --max-feeds, key max-feeds in the
file, variable CRAWL_MAX_FEEDS. A flag beats a variable beats the file beats the default. The
default of start-minute is what the last run had, which the data directory keeps.`,
		Args: takes(0, 0, ""),
		RunE: p.with(func(_ context.Context, a *app, _ []string) error { return runConfig(a) }),
	}
	addSettings(c.Flags(), forFetch|forInvoked)
	return c
}

// shownSetting is one setting of `config --json`. Lists are joined by commas, as in a variable.
type shownSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

func runConfig(a *app) error {
	list := []shownSetting{}
	t := newTable("NAME", "VALUE", "FROM")
	for _, s := range settingList() {
		o := a.origins[s.name]
		value := strings.Join(o.texts, ",")
		switch s.name {
		case "db":
			value = a.crawlConfig().Database()
		case "user-agent":
			value = a.fetch.UserAgent
		}
		if s.secret {
			value = withoutPassword(value)
		}
		list = append(list, shownSetting{s.name, value, o.from})
		t.add(s.name, dash(value), o.from)
	}
	if a.json {
		return a.printJSON(list)
	}
	return t.print(a.program)
}

// withoutPassword hides the password of a URL.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text
	}
	return u.Redacted()
}
