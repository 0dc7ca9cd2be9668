"""Writes metrics.json: what scikit-learn, sacrebleu, jiwer and rouge-score say about fixed inputs.

pip install scikit-learn sacrebleu jiwer rouge-score; python fixtures.py
"""
import json, os
from importlib.metadata import version
import numpy as np
from sklearn import metrics as sk
import sacrebleu, jiwer
from rouge_score import rouge_scorer

r = np.random.default_rng(7)
out = {"versions": {m: version(m) for m in ("numpy", "scikit-learn", "sacrebleu", "jiwer", "rouge-score")}}

# Scores are multiples of 1/16, so that ties come and float32 holds them.
n, c = 60, 5
t = r.integers(0, c - 1, n)  # class 4 is never a target
s = r.integers(-40, 40, (n, c)) / 16
s[np.arange(n), t] += 1
s += np.arange(c) / 1024  # argmax without ties
p = s.argmax(1)
multi = {"scores": s.tolist(), "targets": t.tolist(), "want": {
    "accuracy": sk.accuracy_score(t, p),
    "top-3 accuracy": sk.top_k_accuracy_score(t, s, k=3, labels=range(c)),
    "confusion": sk.confusion_matrix(t, p, labels=range(c)).tolist(),
    "AUROC": float(np.mean([sk.roc_auc_score(t == k, s[:, k]) for k in range(c - 1)])),
}}
for a in ("macro", "micro", "weighted"):
    multi["want"][a + " precision"] = sk.precision_score(t, p, average=a, zero_division=0)
    multi["want"][a + " recall"] = sk.recall_score(t, p, average=a, zero_division=0)
    multi["want"][a + " F1"] = sk.f1_score(t, p, average=a, zero_division=0)
    multi["want"][a + " F2"] = sk.fbeta_score(t, p, beta=2, average=a, zero_division=0)
out["multi"] = multi

t = r.integers(0, 2, (40, 3))
s = (r.integers(-16, 16, (40, 3)) + 8 * t - 4) / 16
p = (s > 0).astype(int)
label = {"scores": s.tolist(), "targets": t.tolist(), "want": {
    "hamming score": 1 - sk.hamming_loss(t, p),
    "AUROC": sk.roc_auc_score(t, s, average="macro"),
    "AUPRC": sk.average_precision_score(t, s, average="macro"),
}}
for a in ("macro", "micro", "weighted"):
    label["want"][a + " precision"] = sk.precision_score(t, p, average=a, zero_division=0)
    label["want"][a + " recall"] = sk.recall_score(t, p, average=a, zero_division=0)
    label["want"][a + " F1"] = sk.f1_score(t, p, average=a, zero_division=0)
out["label"] = label

words = "the a cat dog sat on mat saw big red house über".split()
got, want = [], []
for _ in range(12):
    ref = list(r.choice(words, r.integers(3, 12)))
    hyp = [w if r.random() < 0.8 else str(r.choice(words)) for w in ref if r.random() < 0.9] or ["a"]
    want.append(" ".join(ref)); got.append(" ".join(hyp))
ascii_got, ascii_want = [g.replace("ü", "u") for g in got], [w.replace("ü", "u") for w in want]
rouge = rouge_scorer.RougeScorer(["rougeL"])
short_got, short_want = ["the cat sat here"], ["the cat was sitting there"]
out["text"] = {"got": ascii_got, "want": ascii_want, "unicode_got": got, "unicode_want": want, "short_got": short_got, "short_want": short_want, "values": {
    "WER": jiwer.wer(ascii_want, ascii_got),
    "CER": jiwer.cer(ascii_want, ascii_got),
    "unicode CER": jiwer.cer(want, got),
    "BLEU": sacrebleu.corpus_bleu(ascii_got, [ascii_want], smooth_method="none", tokenize="none").score / 100,
    "smooth BLEU": sacrebleu.corpus_bleu(ascii_got, [ascii_want], smooth_method="exp", tokenize="none").score / 100,
    "short smooth BLEU": sacrebleu.corpus_bleu(short_got, [short_want], smooth_method="exp", tokenize="none").score / 100,
    "ROUGE-L": float(np.mean([rouge.score(w, g)["rougeL"].fmeasure for g, w in zip(ascii_got, ascii_want)])),
}}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "metrics.json"), "w") as f:
    json.dump(out, f)
    f.write("\n")
