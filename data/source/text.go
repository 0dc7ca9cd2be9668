package source

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/goburn/burn/data"
)

var shakespeare = set{
	name: "tinyshakespeare",
	files: []file{
		{name: "tinyshakespeare.txt", sum: shakespeareSum},
		{name: "input.txt", sum: shakespeareSum, size: 1115394},
	},
	urls: []string{"https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/"},
}

const shakespeareSum = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"

// TinyShakespeare returns 40,000 lines of Shakespeare's plays as one ASCII text (Karpathy 2015), from input.txt or
// tinyshakespeare.txt.
func TinyShakespeare(ctx context.Context, o Options) (string, error) {
	local := o
	local.Offline = true
	b, err := shakespeare.open(ctx, local, shakespeare.files[0])
	if errors.Is(err, ErrNotFound) {
		b, err = shakespeare.open(ctx, o, shakespeare.files[1])
	}
	return string(b), err
}

// Article is one text of a classification data set, with its label.
type Article struct {
	Title, Text string
	Label       int // starts at 0
}

// AGClasses are the classes of the AG News set, as published by Zhang, Zhao and LeCun (2015).
var AGClasses = []string{"World", "Sports", "Business", "Sci/Tech"}

// ReadArticles reads a file in the format of AG News: CSV without a header, of class (1 to classes), title and text.
func ReadArticles(r io.Reader, classes int) (data.Memory[Article], error) {
	c := csv.NewReader(r)
	c.FieldsPerRecord = 3
	var out data.Memory[Article]
	for {
		rec, err := c.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("source: articles: %w", err)
		}
		label, err := strconv.Atoi(rec[0])
		if err != nil || label < 1 || label > classes {
			line, _ := c.FieldPos(0)
			return nil, fmt.Errorf("source: articles: line %d: class %q, want 1 to %d", line, rec[0], classes)
		}
		out = append(out, Article{rec[1], rec[2], label - 1})
	}
}

// AGNews reads train.csv or test.csv of AG News from the file at path.
func AGNews(path string) (data.Memory[Article], error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("source: ag news: %w; give the path of train.csv or test.csv, which are in data/ag_news_csv of https://github.com/mhjabreel/CharCnn_Keras", err)
	}
	defer f.Close()
	return ReadArticles(f, len(AGClasses))
}
