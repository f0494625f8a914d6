#pragma once
// ClientRoles: what clients over TLS may do, by the names of their certificates, as `clients:` in
// millraced.yaml says.
//
// Threads: a value. Failure: of roleNamed(), nothing; config_file.h names the place.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::config {

/// Each role may do what the ones before it may.
enum class Role {
    kNone,   ///< nothing
    kView,   ///< reads
    kRun,    ///< submits, and changes its own runs
    kAdmin,  ///< changes all runs, and ends the daemon
};

/// "view"; "none" of kNone.
std::string_view roleName(Role role);
/// "view", "run" or "admin".
std::optional<Role> roleNamed(std::string_view name);
/// The names that roleNamed() knows.
std::vector<std::string> roleNames();

class ClientRoles {
 public:
    /// `name`: of a certificate, or a shell pattern ("ci-*").
    void add(std::string name, Role role) { rules_.push_back({std::move(name), role}); }
    bool isEmpty() const { return rules_.empty(); }
    /// The rule of this very name; else the first pattern that matches, in the order of the file;
    /// else kNone. Without any rule, every certificate may view.
    Role roleOf(const std::string& name) const;

 private:
    struct Rule {
        std::string name;
        Role role;
    };
    std::vector<Rule> rules_;
};

}  // namespace millrace::config
