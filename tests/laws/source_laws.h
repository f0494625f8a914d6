#pragma once
// Who may include whom: the rooms as one table, the libraries as another, and the check of a source
// tree against them.
//
// What no law binds is an offence: a new room stands in the table before its first file compiles
// with the tests. A permission that nobody uses is one, too: the table is the architecture, not
// what it might be.
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

/// The files below `room` ("backend/core/", or a prefix of names: "daemon/main"), or those right in
/// a folder and none below it ("app/gui/*"), and what of ours they may include beside themselves.
/// The longest prefix binds.
struct RoomLaw {
    std::string room;
    std::vector<std::string> mayInclude;
};
const std::vector<RoomLaw>& theRooms();

/// A library by its headers, and where alone they may be included.
struct LibraryLaw {
    std::string name;
    std::regex header;
    std::vector<std::string> onlyIn;
};
const std::vector<LibraryLaw>& libraryLaws();

/// Who may include whom, and who may not include what.
std::vector<Offence> checkIncludes(const std::vector<SourceFile>& files,
                                   const std::vector<RoomLaw>& laws = theRooms());
/// Permissions that nobody uses, and rooms that hold no file.
std::vector<Offence> checkPermissions(const std::vector<SourceFile>& files,
                                      const std::vector<RoomLaw>& laws);
std::vector<Offence> checkLibraryPermissions(const std::vector<SourceFile>& files,
                                             const std::vector<LibraryLaw>& laws);

}  // namespace millrace::laws
