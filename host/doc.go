// Package host finds backends and opens their devices. A backend is built into the program or is a plugin. A plugin runs as a
// process of its own, or is a shared object that package host/shared loads.
//
// A plugin is an executable named burn-backend-NAME, or a shared object burn-backend-NAME.so (.dylib, .dll). Its folder may contain a
// manifest, burn-backend-NAME.toml. The folders that are searched are, in this order: those of Options.Dirs, those of BURN_PLUGIN_PATH,
// ./burn_plugins, the user's data folder, the system's folders, and the folder of the program. A plugin lies directly in one of them, or
// below it in the layout HOST/NAMESPACE/NAME/VERSION/OS_ARCH. If several plugins have the same name, the first one wins. A plugin in
// ./burn_plugins is used only if the user has allowed it, and never instead of an installed or locked plugin: see Find and Options.Ask.
//
// The package must not execute, load or trust a plugin before admit.go and content.go have checked it.
//
// # Files, in the order of the data
//
//	spec.go, open.go      NAME[:INDEX] parsed and opened; Options
//	search.go, local.go   plugins found in folders; ./burn_plugins and the user's permission
//	manifest.go, manifest/ the description beside a plugin
//	admit.go, store/      locks, signatures and trust of installed plugins
//	content.go, contents.go, sealed/  the checked bytes that are executed
//	contain.go            the rules that confine a plugin process
//	loader.go, shared/    shared objects, in this process or in a process of their own
//	lasting.go, restore/  backends that survive the loss of their process
//	devices.go            descriptions of all backends
package host
