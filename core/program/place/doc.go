// Package place decides which of several devices computes which part of a program. It stands between a program that was
// lowered and a decorator that runs its parts: Units takes the program apart, NewProblem and Solve find the members of the
// units with the least sum of times, and Parts makes a program of what runs on one member in a row. It knows no device:
// the caller says which member claims a node, and what units and transfers cost.
//
// For two members, the solution is an exact minimum cut (Stone, Multiprocessor Scheduling with the Aid of Network Flow
// Algorithms, 1977). For more, it is improved by cuts between each pair. For small programs, all assignments are tried.
package place
