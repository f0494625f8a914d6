#pragma once
// An `ssh` that is a script, and the host at its other end: a directory of this machine, where what
// is asked of it is really done by sh. hook() says what goes wrong.
//
// The hook knows $mode (master, forward, command) and $last (the command).
#include <string>

#include "app/ssh/host.h"
#include "app/ssh/remote_look.h"
#include "backend/core/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::tests {

class ScriptedSsh {
 public:
    /// `home`: its name below the directory.
    explicit ScriptedSsh(const std::string& home = "home") : home_(dir_ / home) {
        const std::string script = strCat(
            "#!/bin/sh\nfor last; do :; done\n"
            "mode=command\ncase \" $* \" in *' -M '*) mode=master;; *' -O forward '*) "
            "mode=forward;; esac\n"
            "dir='",
            dir_.path(),
            "'\necho x >> \"$dir/$mode\"\nprintf '%s\\n' \"$*\" >> \"$dir/calls\"\n"
            "export HOME=",
            ssh::shellWord(home_),
            " XDG_RUNTIME_DIR=\"$dir/run\" PATH=\"$dir/path:/usr/bin:/bin\"\n"
            "unset XDG_STATE_HOME\ncd \"$HOME\"\n. \"$dir/hook\"\n[ $mode = forward ] || exec sh "
            "-c \"$last\"\n");
        for (const char* name : {"run", "path"}) {
            makeDirectories(dir_ / name).IgnoreError();
        }
        makeDirectories(home_).IgnoreError();
        writeFileAtomic(dir_ / "ssh", script, 0755).IgnoreError();
        hook("");
    }

    void hook(const std::string& body) { writeFileAtomic(dir_ / "hook", body).IgnoreError(); }
    /// A program in front of the PATH there.
    void program(const std::string& name, const std::string& body) {
        writeFileAtomic(dir_ / ("path/" + name), "#!/bin/sh\n" + body, 0755).IgnoreError();
    }
    /// How often it was run so.
    std::size_t count(const std::string& mode) const {
        const Result<std::string> lines = readFile(dir_ / mode);
        return lines.ok() ? lines->size() / 2 : 0;
    }
    /// Its command lines so far.
    std::string calls() const { return readFile(dir_ / "calls").value_or(""); }
    const std::string& home() const { return home_; }
    std::string operator/(const std::string& name) const { return dir_ / name; }

    ssh::Settings settings() const {
        ssh::Settings settings;
        settings.searchPath = dir_.path();
        return settings;
    }

 private:
    TempDir dir_;
    std::string home_;
};

}  // namespace millrace::tests
