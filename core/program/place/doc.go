// Package place decides which of several devices computes which part of a program. A decorator calls it with a lowered program and runs the
// parts: Units divides the program, NewProblem and Solve assign units to members with the least sum of times, and Parts combines
// consecutive units on one member into programs. This package must not know any device: the caller supplies the claims of members and the
// costs of units and transfers.
//
// For two members, the solution is an exact minimum cut (Stone, Multiprocessor Scheduling with the Aid of Network Flow Algorithms, 1977).
// For more, cuts between each pair improve it. For small programs, all assignments are tried.
package place
