//! Table whose entries keep their index for as long as they live.

/// Index that no entry has.
pub(crate) const NONE: u32 = u32::MAX;

/// The table. Freed entries are reused, the last one first.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, entry: T) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            // Each entry belongs to a descriptor, and there are fewer than 2^32 of those.
            self.entries.len() as u32 - 1
        });
        self.entries[index as usize] = Some(entry);
        index
    }

    pub(crate) fn entry(&mut self, index: u32) -> Option<&mut T> {
        self.entries.get_mut(index as usize)?.as_mut()
    }

    pub(crate) fn remove(&mut self, index: u32) -> Option<T> {
        let entry = self.entries.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_places_again() {
        let mut slab = Slab::default();
        assert_eq!([slab.insert('a'), slab.insert('b')], [0, 1]);
        assert_eq!([slab.remove(0), slab.remove(0), slab.remove(7)], [Some('a'), None, None]);
        assert_eq!([slab.insert('c'), slab.insert('d')], [0, 2]);
        assert_eq!(slab.entry(1), Some(&mut 'b'));
        assert_eq!(slab.entry(3), None);
    }
}
