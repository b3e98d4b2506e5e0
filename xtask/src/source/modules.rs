//! The modules of a crate, the names in them, and what a path in one of them means.
//!
//! It reads `mod`, `use` and the heads of items, as rustfmt writes them. It knows no types, so that
//! a call of a method names no module. Tests are not read.

mod paths;
mod uses;

use std::collections::{BTreeMap, BTreeSet};

use crate::source::scanner::item;
use crate::source::tree::{File, Tree};
use uses::UsedName;

/// A module's path from the root of its crate; empty for the root.
pub(crate) type Module = Vec<String>;

/// All modules of one crate that are not tests.
pub(crate) struct Crate<'a> {
    pub(crate) rooms: BTreeMap<Module, Room<'a>>,
}

/// One module: its file and the names in it.
pub(crate) struct Room<'a> {
    pub(crate) file: &'a File,
    /// The modules that have a file below this one, with the lines that declare them.
    pub(crate) children: BTreeMap<String, usize>,
    /// Names of the items that the file itself defines.
    items: BTreeSet<String>,
    uses: Vec<UsedName>,
    /// Paths outside `use`, each with its line.
    paths: Vec<(Vec<String>, usize)>,
}

/// The mention of an item in a file.
pub(crate) struct Mention<'a> {
    pub(crate) from: &'a Module,
    /// The module whose file defines the item.
    pub(crate) to: Module,
    pub(crate) name: &'a str,
    /// Line number, from 1.
    pub(crate) line: usize,
    /// True for a `pub use`.
    pub(crate) is_passed_on: bool,
}

/// The end of a path.
enum Found {
    Module(Module),
    /// An item, and the module whose file defines it.
    Item(Module),
}

/// Returns the crates of all packages: their libraries and their programs.
pub(crate) fn crates(tree: &Tree) -> Vec<Crate<'_>> {
    tree.rust().filter(|file| file.is_root()).map(|root| Crate::of(root, tree)).collect()
}

impl<'a> Crate<'a> {
    /// Reads the modules that `root` declares, and those that they declare.
    fn of(root: &'a File, tree: &'a Tree) -> Crate<'a> {
        let directory = root.path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let mut rooms = BTreeMap::new();
        let mut next = vec![(Module::new(), root, directory.to_owned())];
        while let Some((module, file, directory)) = next.pop() {
            let room = Room::of(file);
            for child in room.children.keys() {
                let own = format!("{directory}/{child}");
                let paths = [format!("{own}.rs"), format!("{own}/mod.rs")];
                if let Some(file) = paths.iter().find_map(|path| tree.file(path)) {
                    next.push((below(&module, child), file, own));
                }
            }
            rooms.insert(module, room);
        }
        Crate { rooms }
    }

    /// Returns every mention of an item that another file of the crate defines, and none of
    /// modules and of names of other crates.
    pub(crate) fn mentions<'m>(&'m self, from: &'m Module) -> Vec<Mention<'m>> {
        let room = &self.rooms[from];
        let uses = room.uses.iter().map(|used| (&used.path, used.line, used.is_public));
        let paths = room.paths.iter().map(|(path, line)| (path, *line, false));
        let mentions = uses.chain(paths).filter_map(|(path, line, is_passed_on)| {
            match self.find(from, path, false, &mut BTreeSet::new())? {
                Found::Item(to) if to != *from => {
                    Some(Mention { from, to, name: path.last()?, line, is_passed_on })
                }
                _ => None,
            }
        });
        mentions.collect()
    }

    /// Counts the names that files import from the root of their own crate, which only passes most
    /// of them on: such an import hides the file that it is from.
    pub(crate) fn imports_from_root(&self) -> usize {
        let root = Module::new();
        let Some(modules) = self.rooms.get(&root).map(|room| &room.children) else { return 0 };
        let is_of_root = |used: &&UsedName| match &used.path[..] {
            [first, name] => first == "crate" && !modules.contains_key(name),
            _ => false,
        };
        let rooms = self.rooms.iter().filter(|(module, _)| **module != root);
        rooms.map(|(_, room)| room.uses.iter().filter(is_of_root).count()).sum()
    }

    /// Follows a path from `module`, through what is passed on. A path has come from elsewhere if
    /// it `is_inside`: then a name that is not known, such as one made by a macro, is the module's.
    fn find(
        &self,
        module: &Module,
        path: &[String],
        is_inside: bool,
        seen: &mut BTreeSet<(Module, usize)>,
    ) -> Option<Found> {
        let Some((first, rest)) = path.split_first() else {
            return Some(Found::Module(module.clone()));
        };
        match first.as_str() {
            "crate" => return self.find(&Module::new(), rest, true, seen),
            "self" => return self.find(module, rest, true, seen),
            "super" => return self.find(&module.split_last()?.1.to_vec(), rest, true, seen),
            _ => {}
        }
        let room = self.rooms.get(module)?;
        let child = below(module, first);
        let is_item = room.items.contains(first);
        if self.rooms.contains_key(&child) && !(is_item && rest.is_empty()) {
            return self.find(&child, rest, true, seen);
        }
        if is_item {
            return Some(Found::Item(module.clone()));
        }
        let is_foreign = room.uses.iter().any(|used| used.name == *first);
        let unknown = || (is_inside && !is_foreign).then(|| Found::Item(module.clone()));
        self.imported(module, path, seen).or_else(unknown)
    }

    /// Follows a path whose first name a `use` of the module brings.
    fn imported(
        &self,
        module: &Module,
        path: &[String],
        seen: &mut BTreeSet<(Module, usize)>,
    ) -> Option<Found> {
        let uses = self.rooms[module].uses.iter().enumerate();
        let mut uses = uses.filter(|(_, used)| used.name == path[0] || used.name == "*");
        uses.find_map(|(index, used)| {
            // Names may be passed on in a circle.
            if !seen.insert((module.clone(), index)) {
                return None;
            }
            if used.name != "*" {
                return self.find(module, &[&used.path, &path[1..]].concat(), false, seen);
            }
            match self.find(module, &used.path, false, seen)? {
                Found::Module(all) => self.find(&all, path, false, seen),
                Found::Item(_) => None,
            }
        })
    }
}

impl<'a> Room<'a> {
    fn of(file: &'a File) -> Room<'a> {
        let code = &file.masked.production;
        let mut children = BTreeMap::new();
        let mut items = BTreeSet::new();
        for (index, line) in code.lines().enumerate() {
            match item(line) {
                Some(("mod", name)) if line.ends_with(';') => {
                    children.insert(name.to_owned(), index + 1);
                }
                Some((_, name)) => {
                    items.insert(name.to_owned());
                }
                None => {}
            }
        }
        let mut found = Vec::new();
        for (index, line) in uses::without_uses(code).lines().enumerate() {
            found.extend(paths::paths(line).into_iter().map(|path| (path, index + 1)));
        }
        Room { file, children, items, uses: uses::uses(code), paths: found }
    }
}

fn below(module: &Module, child: &str) -> Module {
    [module.as_slice(), &[child.to_owned()]].concat()
}
