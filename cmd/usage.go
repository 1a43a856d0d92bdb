package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"crawl/crawl/fetch"
)

// Wrong usage in plain words: which argument or flag, what is missing, what it could have been.

// takes is the rule for a command's arguments: between least and most (negative: any number) of what is named, like "FEED".
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			missing := strings.Fields(what)
			return &usageError{fmt.Errorf("%s: %s is missing", c.Name(), missing[min(len(args), len(missing)-1)]), c.CommandPath() + " --help says more"}
		case most == 0 && len(args) > 0 && c.HasSubCommands():
			return unknownCommand(c, args[0])
		case most == 0 && len(args) > 0:
			return &usageError{fmt.Errorf("%s takes no argument, and got %q", c.Name(), shownArgument(args[0])), c.CommandPath() + " --help says more"}
		case most > 0 && len(args) > most:
			return &usageError{fmt.Errorf("%s takes only %s, and got %q too", c.Name(), what, shownArgument(args[most])), c.CommandPath() + " --help says more"}
		}
		return nil
	}
}

// shownArgument is an argument without what a URL may hide.
func shownArgument(typed string) string {
	if strings.ContainsAny(typed, ":@") {
		return fetch.Redact(typed)
	}
	return typed
}

// unknownCommand is the error for a command that there is not, below a command: with the one that other programs call so, or the nearest.
func unknownCommand(parent *cobra.Command, name string) error {
	var names []string
	near := ""
	for _, c := range parent.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
		if slices.Contains(c.SuggestFor, strings.ToLower(name)) {
			near = "did you mean " + c.Name() + "?"
		}
	}
	near = cmp.Or(near, didYouMean(name, names))
	if near == "" {
		near = parent.CommandPath() + " --help lists what there is"
	}
	kind := "command"
	if parent.HasParent() {
		kind = parent.Name() + " command"
	}
	return &usageError{fmt.Errorf("unknown %s %q", kind, shownArgument(name)), near}
}

// wrongFlag puts the errors of the flag library into plain words.
func wrongFlag(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	more := c.CommandPath() + " --help lists what there is"
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return &usageError{fmt.Errorf("unknown flag: -%s", unknown.GetSpecifiedName()), more}
	case errors.As(err, &unknown):
		if near := didYouMean(unknown.GetSpecifiedName(), flagNames(c)); near != "" {
			more = strings.Replace(near, "mean ", "mean --", 1)
		}
		return &usageError{fmt.Errorf("unknown flag: --%s", unknown.GetSpecifiedName()), more}
	case errors.As(err, &missing):
		return &usageError{fmt.Errorf("--%s: a value is missing", missing.GetFlag().Name), more}
	case errors.As(err, &invalid):
		return usagef("--%s: %q is %s", invalid.GetFlag().Name, invalid.GetValue(), notOfType(invalid.GetFlag().Value.Type()))
	}
	return &usageError{err, more}
}

// notOfType says what a text is not that a flag of a type cannot read.
func notOfType(kind string) string {
	switch kind {
	case "int", "int64":
		return "not a whole number, or too large"
	case "duration":
		return "not a duration like 90s, 25m or 24h"
	case "bool":
		return "neither true nor false"
	default:
		return "not understood"
	}
}

func flagNames(c *cobra.Command) []string {
	var names []string
	for _, set := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
		set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	return names
}

// exclusive is the error where more than one of some flags was given.
func exclusive(c *cobra.Command, names ...string) error {
	var given []string
	for _, name := range names {
		if c.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) < 2 {
		return nil
	}
	return usagef("%s cannot be combined", strings.Join(given, " and "))
}

// givenText is the value of a text flag if it was given, else nil: an empty value is a value.
func givenText(c *cobra.Command, name string) *string {
	if !c.Flags().Changed(name) {
		return nil
	}
	value, _ := c.Flags().GetString(name) // the flag is one of text
	return &value
}
