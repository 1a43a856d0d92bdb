package feed

import "strings"

// monthOf gives the number of a month by its name in one of the languages that feeds write dates in, 0 if it is none.
func monthOf(word string) int {
	w := strings.ToLower(strings.TrimRight(word, "."))
	if n := months[w]; n > 0 {
		return n
	}
	for _, length := range []int{4, 3} { // "Sept", "January", "januari"
		if runes := []rune(w); len(runes) > length {
			if n := months[string(runes[:length])]; n > 0 {
				return n
			}
		}
	}
	return 0
}

// months by their whole name or a beginning of it that is unique.
var months = monthTable()

func monthTable() map[string]int {
	table := map[string]int{}
	for _, line := range []string{
		"jan feb mar apr may jun jul aug sep oct nov dec",
		"jän feb mär apr mai jun jul aug sep okt nov dez",                      // German
		"janv févr mars avri mai juin juil août sept octo nove déce",           // French
		"janv fevr mars avr mai juin juil aout sept oct nov dec",               // French, unaccented
		"ene feb mar abr may jun jul ago sep oct nov dic",                      // Spanish
		"gen feb mar apr mag giu lug ago set ott nov dic",                      // Italian
		"jan fev mar abr mai jun jul ago set out nov dez",                      // Portuguese
		"jan feb maa apr mei jun jul aug sep okt nov dec",                      // Dutch
		"jan feb mrt apr maj jun jul aug sep okt nov dec",                      // Dutch short, Nordic
		"sty lut mar kwi maj cze lip sie wrz paź lis gru",                      // Polish
		"янв фев мар апр май июн июл авг сен окт ноя дек",                      // Russian
		"янв фев мар апр мая июн июл авг сен окт ноя дек",                      // Russian, genitive
		"ιαν φεβ μαρ απρ μαι ιουν ιουλ αυγ σεπ οκτ νοε δεκ",                    // Greek
		"ιαν φεβ μάρ απρ μάι ιούν ιούλ αύγ σεπ οκτ νοέ δεκ",                    // Greek, accented
		"jan febr márc ápr máj jún júl aug szept okt nov dec",                  // Hungarian
		"oca şub mar nis may haz tem ağu eyl eki kas ara",                      // Turkish
		"led úno bře dub kvě čer červenec srp zář říj lis pro",                 // Czech
		"ian feb mar apr mai iun iul aug sep oct noi dec",                      // Romanian
		"tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu", // Finnish
		"tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu marraskuu joulukuu",
	} {
		for i, name := range strings.Fields(line) {
			if _, taken := table[name]; !taken {
				table[name] = i + 1
			}
		}
	}
	return table
}
