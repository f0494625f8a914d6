#pragma once
// Laws on includes: a table of rooms, a table of libraries, and the check of a source tree against
// both.
//
// A file that no law binds is an offence, so add a new room to the table with its first file. An
// unused permission is an offence too: the table shows the architecture as it is, not as it might
// be.
#include <regex>
#include <string>
#include <vector>

#include "tests/laws/source_tree.h"

namespace millrace::laws {

struct Include {
    std::string target;
    int line = 0;
};
std::vector<Include> includesOf(const SourceFile& file);

/// `room` is a folder ("backend/core/"), a prefix of names ("daemon/main"), or the files directly
/// in a folder ("app/gui/*"). `mayInclude` lists the other rooms that its files may include. The
/// law with the longest matching prefix binds a file.
struct RoomLaw {
    std::string room;
    std::vector<std::string> mayInclude;
};
const std::vector<RoomLaw>& theRooms();

/// A library, recognised by its headers, and the only places that may include them.
struct LibraryLaw {
    std::string name;
    std::regex header;
    std::vector<std::string> onlyIn;
};
const std::vector<LibraryLaw>& libraryLaws();

/// Includes that no law of rooms or libraries permits.
std::vector<Offence> checkIncludes(const std::vector<SourceFile>& files,
                                   const std::vector<RoomLaw>& laws = theRooms());
/// Permissions that no include uses, and rooms without a file.
std::vector<Offence> checkPermissions(const std::vector<SourceFile>& files,
                                      const std::vector<RoomLaw>& laws);
std::vector<Offence> checkLibraryPermissions(const std::vector<SourceFile>& files,
                                             const std::vector<LibraryLaw>& laws);

}  // namespace millrace::laws
