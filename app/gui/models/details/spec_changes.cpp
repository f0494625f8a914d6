#include "app/gui/models/details/spec_changes.h"

#include "app/gui/models/run_text.h"
#include "app/gui/models/spec/spec_meaning.h"
#include "app/gui/models/spec/spec_syntax.h"

namespace millrace::gui {
namespace {

void placeInBase(SpecChange& change, const SpecSyntax& syntax,
                 const std::vector<RecipeStep>& steps) {
    const int node = baseNode(syntax, change.path, steps);
    if (node < 0) {
        return;
    }
    change.before = syntax.inlined(node);
    change.begin = syntax.node(node).begin;
    change.end = syntax.node(node).end;
}

int variationNode(const SpecSyntax& syntax, const QString& name) {
    const int list = syntax.isEmpty() ? -1 : syntax.member(syntax.root(), u"variations");
    if (list < 0) {
        return -1;
    }
    for (const int item : syntax.node(list).children) {
        const int nameNode = syntax.node(item).isMap() ? syntax.member(item, u"name") : -1;
        if (nameNode >= 0 && syntax.value(nameNode) == name) {
            return item;
        }
    }
    return -1;
}

}  // namespace

std::vector<SpecChange> changesOf(const values::RunDetail& run) {
    // Editors count a line end as one character.
    const SpecSyntax syntax(qtext(run.specText).replace("\r\n", "\n"));
    const std::vector<RecipeStep> steps = recipeSteps(syntax);
    std::vector<SpecChange> changes;
    for (const std::string& set : run.sets) {
        const QString text = qtext(set);
        SpecChange change;
        change.path = text.section('=', 0, 0).trimmed();
        change.after = text.section('=', 1).trimmed();
        change.origin = "--set";
        placeInBase(change, syntax, steps);
        changes.push_back(std::move(change));
    }
    const QString name = qtext(run.summary.variation);
    const int variation = name.isEmpty() ? -1 : variationNode(syntax, name);
    const int set = variation < 0 ? -1 : syntax.member(variation, u"set");
    if (set < 0 || !syntax.node(set).isMap()) {
        return changes;
    }
    for (const int member : syntax.node(set).children) {
        const SyntaxNode& node = syntax.node(member);
        SpecChange change;
        change.path = node.key;
        change.after = syntax.inlined(member);
        change.origin = "variation " + name;
        change.changeBegin = node.keyBegin;
        change.changeEnd = node.end;
        placeInBase(change, syntax, steps);
        changes.push_back(std::move(change));
    }
    return changes;
}

}  // namespace millrace::gui
