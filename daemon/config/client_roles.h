#pragma once
// ClientRoles: what clients over TLS may do, by the names of their certificates; from `clients:` in
// millraced.yaml. Used by rpc::Access.
//
// Threads: a value. Failure: roleNamed() returns nullopt; config_file.h reports the place.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::config {

/// Each role may do what the previous ones may.
enum class Role {
    kNone,   ///< nothing
    kView,   ///< reads
    kRun,    ///< submits, and changes its own runs
    kAdmin,  ///< changes all runs, and ends the daemon
};

/// "view"; "none" for kNone.
std::string_view roleName(Role role);
/// Parses "view", "run" or "admin".
std::optional<Role> roleNamed(std::string_view name);
/// The names that roleNamed() knows.
std::vector<std::string> roleNames();

class ClientRoles {
 public:
    /// `name`: a certificate's name, or a shell pattern ("ci-*").
    void add(std::string name, Role role) { rules_.push_back({std::move(name), role}); }
    bool isEmpty() const { return rules_.empty(); }
    /// Returns the role of the rule with exactly this name, else of the first pattern that matches,
    /// in the order of the file, else kNone. Without any rule, every certificate has kView.
    Role roleOf(const std::string& name) const;

 private:
    struct Rule {
        std::string name;
        Role role;
    };
    std::vector<Rule> rules_;
};

}  // namespace millrace::config
