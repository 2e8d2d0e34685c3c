"""The daemon: `pace` says when, `inforce` with which settings, `child` does a sync in a process of its own, `loop` puts them together.

Layer 3. The long-lived process only ever waits, looks at files from outside and starts a child: it holds no graph, opens no database and so
has nothing to leak. Syncs in a child also keep a crash of native code away from it.
"""
