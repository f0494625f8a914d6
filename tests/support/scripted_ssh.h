#pragma once
// An `ssh` that is a script, and its host: a directory of this machine in which sh executes the
// requests. hook() makes it fail.
//
// The hook knows $mode (master, forward, command) and $last (the command).
#include <string>

#include "app/ssh/host.h"
#include "app/ssh/remote_look.h"
#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::tests {

class ScriptedSsh {
 public:
    /// `home`: name of the host's home below the directory.
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
    /// Adds a program in front of the host's PATH.
    void program(const std::string& name, const std::string& body) {
        writeFileAtomic(dir_ / ("path/" + name), "#!/bin/sh\n" + body, 0755).IgnoreError();
    }
    /// Number of calls in this mode.
    std::size_t count(const std::string& mode) const {
        const Result<std::string> lines = readFile(dir_ / mode);
        return lines.ok() ? lines->size() / 2 : 0;
    }
    /// The command lines of all calls.
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
