package csv_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goburn/burn/data/csv"
	"github.com/stretchr/testify/require"
)

type row struct {
	Name  string
	Age   int8     `csv:"age"`
	Score *float64 `csv:"score"`
	Skip  []int    `csv:"-"`
	Flag  bool
	level
}

type level string

func (l *level) UnmarshalText(b []byte) error { *l = level(strings.ToUpper(string(b))); return nil }

type tail struct {
	Count uint16 `csv:"n"`
}

type nested struct {
	tail
	L level `csv:"l"`
}

func ptr[T any](v T) *T { return &v }

func TestRead(t *testing.T) {
	got, err := csv.Read[row](strings.NewReader("\ufeffFlag,other,score,Name,age\ntrue,x,1.5,\"Doe, J\",-7\n0,y,,\"two\nlines\",8\n"), csv.Options{})
	require.NoError(t, err)
	require.Equal(t, []row{{Name: "Doe, J", Age: -7, Score: ptr(1.5), Flag: true}, {Name: "two\nlines", Age: 8}}, []row(got))

	fine, err := csv.Read[nested](strings.NewReader("# note\n65535; high\n"), csv.Options{Comma: ';', Comment: '#', Columns: []string{"n", "l"}, Trim: true})
	require.NoError(t, err)
	require.Equal(t, []nested{{tail{65535}, "HIGH"}}, []nested(fine))
}

func TestFaults(t *testing.T) {
	type r = struct {
		A int8 `csv:"a"`
		B bool `csv:"b"`
	}
	for text, want := range map[string]string{
		"":                   "header",
		"a\n":                `no column "b" for struct`,
		"a,b\n1,true\n1\n":   "line 3: wrong number of fields",
		"a,b\n1,true\nx,0\n": `line 3, column "a": "x", want int8`,
		"a,b\n200,true\n":    `line 2, column "a": "200" is outside the range of int8`,
		"a,b\n1,maybe\n":     `line 2, column "b": "maybe", want bool`,
		"a,b\n\"1,true\n":    "quote",
	} {
		_, err := csv.Read[r](strings.NewReader(text), csv.Options{})
		require.ErrorContains(t, err, want, text)
	}
	_, err := csv.Read[int](strings.NewReader("a\n"), csv.Options{})
	require.ErrorContains(t, err, "want a struct")
	_, err = csv.Read[struct{ A []int }](strings.NewReader("A\n"), csv.Options{})
	require.ErrorContains(t, err, "type []int")
	_, err = csv.Read[struct {
		A int
		B int `csv:"A"`
	}](strings.NewReader("A\n"), csv.Options{})
	require.ErrorContains(t, err, "two fields")
	_, err = csv.Open[r](filepath.Join(t.TempDir(), "none.csv"), csv.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzRead(f *testing.F) {
	f.Add("a,b\n1,true\n")
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = csv.Read[struct {
			A int8  `csv:"a"`
			B *bool `csv:"b"`
		}](strings.NewReader(s), csv.Options{Lazy: true})
	})
}

// The California housing table: 20,640 rows; 207 of them lack the number of bedrooms (as its authors state).
func TestHousing(t *testing.T) {
	dir := os.Getenv("BURN_TESTDATA")
	if dir == "" {
		t.Skip("BURN_TESTDATA is not set: it names the folder with datasets/california_housing.csv")
	}
	type block struct {
		Longitude float32  `csv:"longitude"`
		Bedrooms  *float32 `csv:"total_bedrooms"`
		Value     float64  `csv:"median_house_value"`
		Ocean     string   `csv:"ocean_proximity"`
	}
	got, err := csv.Open[block](filepath.Join(dir, "datasets", "california_housing.csv"), csv.Options{})
	require.NoError(t, err)
	require.Len(t, got, 20640)
	missing := 0
	for _, b := range got {
		if b.Bedrooms == nil {
			missing++
		}
	}
	require.Equal(t, 207, missing)
	require.Equal(t, block{-122.23, ptr[float32](129), 452600, "NEAR BAY"}, got[0])
}

// A long value or header does not make the error long.
func TestLongText(t *testing.T) {
	type row struct{ A int }
	long := strings.Repeat("9", 1<<20)
	for _, text := range []string{"A\n" + long + "\n", long + "\n1\n", "A\nx" + long + "\n"} {
		_, err := csv.Read[row](strings.NewReader(text), csv.Options{})
		require.Error(t, err)
		require.Less(t, len(err.Error()), 4<<10)
	}
}

// Two columns with the name of a field are an error, because the name is ambiguous. A name that no field has may repeat.
func TestColumnsOfOneName(t *testing.T) {
	type r struct {
		A int `csv:"a"`
	}
	for text, want := range map[string]string{
		"a,b,a\n1,2,3\n":       `columns 1 and 3 are both called "a", want one`,
		"b,a,a\n1,2,3\n":       `columns 2 and 3 are both called "a", want one`,
		"\ufeffa,b,a\n1,2,3\n": `columns 1 and 3 are both called "a", want one`,
	} {
		_, err := csv.Read[r](strings.NewReader(text), csv.Options{})
		require.ErrorContains(t, err, want)
	}
	got, err := csv.Read[r](strings.NewReader("b,a,b,\n1,2,3,4\n"), csv.Options{})
	require.NoError(t, err)
	require.Equal(t, []r{{2}}, []r(got))
	_, err = csv.Read[r](strings.NewReader("1,2\n"), csv.Options{Columns: []string{"a", "a"}})
	require.ErrorContains(t, err, "both called")
}
