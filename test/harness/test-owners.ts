/** Owners that every test's database knows: alive, in their first incarnation. */
export const testOwners: readonly string[] = [
  'own_1',
  'own_2',
  'own_a',
  'own_b',
  'own',
  'o',
  'a',
  'b',
  'me',
  'other',
]
