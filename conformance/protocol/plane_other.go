//go:build !linux

package protocol

var planeRules []Rule
