package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"

	"crawl/state"
)

// origin is where a setting's value comes from: "default", "data directory", "flag --workers", "variable CRAWL_WORKERS" or the file's path. texts
// is the value as it was written there.
type origin struct {
	from  string
	texts []string
}

// settingFlag is a setting on the command line. It keeps the text; what it means is decided in one place for all sources.
type settingFlag struct {
	setting setting
	texts   []string
}

func (f *settingFlag) Type() string   { return f.setting.kind }
func (f *settingFlag) String() string { return strings.Join(f.texts, ",") }

func (f *settingFlag) Set(text string) error {
	if f.setting.list {
		f.texts = append(f.texts, splitList(text)...)
	} else {
		f.texts = []string{text}
	}
	return nil
}

// addSettings gives a command the flags of some groups, except those that it uses for something of its own.
func addSettings(flags *pflag.FlagSet, groups group, except ...string) {
	for _, s := range settingList() {
		if s.group&groups == 0 || slices.Contains(except, s.name) {
			continue
		}
		f := flags.VarPF(&settingFlag{setting: s}, s.name, "", s.usage)
		f.DefValue = s.def
	}
}

// showOnly leaves in the help of a command those of its settings that are of use for it. It takes the others all the same.
func showOnly(flags *pflag.FlagSet, useful ...string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if _, isSetting := f.Value.(*settingFlag); isSetting {
			f.Hidden = !slices.Contains(useful, f.Name)
		}
	})
}

// givenHidden is the name of a setting that was given as a flag though it is of no use, "" if none was.
func givenHidden(flags *pflag.FlagSet) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if _, isSetting := f.Value.(*settingFlag); isSetting && f.Hidden {
			name = f.Name
		}
	})
	return name
}

// source is what one source says: which settings, and in which words.
type source = map[string]origin

// loadSettings puts the sources together: a flag beats a variable beats the file beats what the data directory keeps beats the default. The
// errors name the source.
func loadSettings(flags *pflag.FlagSet, env func(string) (string, bool), readFile func(path string) (source, error)) (s settings, origins source, err error) {
	fromEnv, fromFlags := variableSource(env), flagSource(flags)
	dir, err := dataDirectory(fromFlags, fromEnv, env)
	if err != nil {
		return s, nil, err
	}
	path, err := configFile(dir, fromFlags, fromEnv, env)
	if err != nil {
		return s, nil, err
	}
	fromFile, err := readFile(path)
	if err != nil {
		return s, nil, err
	}
	origins = defaultSource(dir, path)
	for _, stronger := range []source{keptSource(dir), fromFile, fromEnv, fromFlags} {
		maps.Copy(origins, stronger)
	}
	if err := s.read(origins); err != nil {
		return s, nil, err
	}
	s.dir, s.config = dir, path
	if base := "."; s.db != "" {
		if origins["db"].from == path {
			base = filepath.Dir(path)
		}
		s.db, err = filepath.Abs(against(base, s.db))
	}
	return s, origins, errors.Join(err, s.check(origins))
}

func defaultSource(dir, path string) source {
	values := source{}
	for _, s := range settingList() {
		values[s.name] = origin{"default", []string{s.def}}
		if s.list {
			values[s.name] = origin{"default", []string{}}
		}
	}
	values["dir"], values["config"] = origin{"default", []string{dir}}, origin{"default", []string{path}}
	return values
}

// fromDirectory is the origin of what the data directory keeps.
const fromDirectory = "data directory"

// keptSource is what the data directory keeps of earlier runs: the start minute. What cannot be read is for whoever opens the directory to
// complain of.
func keptSource(dir string) source {
	minute, err := (&state.Dir{Path: dir}).StartMinute()
	if err != nil || minute < 0 {
		return nil
	}
	return source{"start-minute": {fromDirectory, []string{strconv.Itoa(minute)}}}
}

func variableSource(env func(string) (string, bool)) source {
	values := source{}
	for _, s := range settingList() {
		text, set := env(variable(s.name))
		if !set || text == "" && !s.list {
			continue
		}
		texts := []string{text}
		if s.list {
			texts = splitList(text)
		}
		values[s.name] = origin{"variable " + variable(s.name), texts}
	}
	return values
}

func flagSource(flags *pflag.FlagSet) source {
	values := source{}
	flags.Visit(func(f *pflag.Flag) {
		if value, ours := f.Value.(*settingFlag); ours {
			values[f.Name] = origin{"flag --" + f.Name, value.texts}
		}
	})
	return values
}

// settingsHint is what helps with a setting that is wrong.
const settingsHint = "crawl run --help lists the settings"

// noFile is for commands that must work whatever the file says.
func noFile(string) (source, error) { return nil, nil }

// fileSource reads the TOML file at path, "" for none.
func fileSource(path string) (source, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(fmt.Errorf("read settings: %w", err))
	}
	var file map[string]any
	if err := toml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, positioned(err))
	}
	values, known := source{}, names(settingList())
	for _, name := range slices.Sorted(maps.Keys(file)) {
		key := dotted(name, file[name])
		if key == "dir" || key == "config" {
			return nil, &usageError{fmt.Errorf("%s: %s cannot be set in the file", path, key), "use --" + key + " or the variable " + variable(key)}
		}
		if !slices.Contains(known, key) {
			return nil, &usageError{fmt.Errorf("%s: unknown key %q", path, key), cmp.Or(didYouMean(key, known), settingsHint)}
		}
		texts, err := asTexts(file[name], isText(key))
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, key, err)
		}
		values[key] = origin{path, texts}
	}
	return values, nil
}

// dotted is the whole name of a key, that of the first one in it where it is a table.
func dotted(key string, value any) string {
	if table, _ := value.(map[string]any); len(table) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(table)))
		return key + "." + dotted(first, table[first])
	}
	return key
}

// positioned puts the place in the file, which the parser knows, before its error.
func positioned(err error) error {
	var at interface{ Position() (row, column int) }
	if !errors.As(err, &at) {
		return err
	}
	row, column := at.Position()
	return fmt.Errorf("line %d, column %d: %s", row, column, strings.TrimPrefix(err.Error(), "toml: "))
}

// read turns what is in force into values.
func (s *settings) read(inForce source) error {
	for _, setting := range settingList() {
		var err error
		o := inForce[setting.name]
		if !setting.list && len(o.texts) != 1 {
			err = errors.New("one value is needed, not a list")
		}
		for i := 0; err == nil && i < len(o.texts); i++ {
			err = setting.read(s, o.texts[i])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", blame(setting.name, o.from), err)
		}
	}
	return nil
}

// blame names a setting in the words of its source.
func blame(name, from string) string {
	_, at, spoken := strings.Cut(from, " ")
	if spoken && (strings.HasPrefix(from, "flag ") || strings.HasPrefix(from, "variable ")) {
		return at
	}
	return from + ": " + name
}

// isText tells whether a setting is text, of which a number in the file would be a mistake.
func isText(name string) bool {
	for _, s := range settingList() {
		if s.name == name {
			return !slices.Contains([]string{"N", "D", "SIZE"}, s.kind)
		}
	}
	return true
}

// asTexts turns a value of the file into the text that a flag would have.
func asTexts(value any, onlyText bool) ([]string, error) {
	switch v := value.(type) {
	case string:
		return []string{v}, nil
	case []string:
		return v, nil
	case int64:
		if onlyText {
			return nil, fmt.Errorf("%d is not text", v)
		}
		return []string{strconv.FormatInt(v, 10)}, nil
	case []any:
		texts := []string{}
		for _, element := range v {
			text, ok := element.(string)
			if !ok {
				return nil, fmt.Errorf("%v is not text", element)
			}
			texts = append(texts, text)
		}
		return texts, nil
	}
	return nil, fmt.Errorf("%v is neither text nor a whole number", value)
}

// splitList splits at commas; an empty text is an empty list.
func splitList(text string) []string {
	list := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// variable is the environment variable of a setting.
func variable(name string) string {
	return "CRAWL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func names(list []setting) []string {
	var names []string
	for _, s := range list {
		names = append(names, s.name)
	}
	return names
}
