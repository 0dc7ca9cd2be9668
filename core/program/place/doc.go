// Package place decides which of several devices computes which part of a program. It stands between a program that was
// lowered and a decorator that runs its parts: Units takes the program apart, NewProblem and Solve find the members of the
// units with the least sum of times, and Parts makes a program of what runs on one member in a row. It knows no device:
// which member claims a node, what a unit costs and what a transfer costs is told by the caller.
//
// Two members are an exact least cut (Stone, Multiprocessor Scheduling with the Aid of Network Flow Algorithms, 1977);
// more are improved by cuts between each two, and small programs are looked at in every way.
package place
