// Package place decides which of several devices computes which part of a program. A decorator calls it with a lowered program
// and runs the parts: Units divides the program, NewProblem and Solve assign units to members with the least sum of times, and
// Parts makes a program of consecutive units on one member. It must not know any device: the caller says which member claims a
// node, and states the costs of units and transfers.
//
// For two members, the solution is an exact minimum cut (Stone, Multiprocessor Scheduling with the Aid of Network Flow
// Algorithms, 1977). For more, it is improved by cuts between each pair. For small programs, all assignments are tried.
package place
