/** How many tests passed and failed, by tap's own raw output. */
export type Counts = { readonly passed: number; readonly failed: number; readonly skipped: number }

/**
 * Counts the top-level tests of each file: in the output of a run over files they are the points
 * one level in. A file that failed otherwise (it crashed, hung, or planned more) counts as a failed
 * test of its own. Skipped and todo ones are neither passed nor failed.
 */
export const countTests = (tap: string): Counts => {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  let failedInFile = 0
  for (const line of tap.split('\n')) {
    const point = /^( {4})?(not )?ok \d+\b([^\n]*)$/.exec(line)
    if (!point) continue
    const [, inFile, not, rest = ''] = point
    if (inFile) {
      if (/ # (?:skip|todo)\b/i.test(rest)) counts.skipped += 1
      else if (not) failedInFile += 1
      else counts.passed += 1
    } else {
      counts.failed += not ? Math.max(failedInFile, 1) : failedInFile
      failedInFile = 0
    }
  }
  // A run that was cut short has no point for its last file.
  return { ...counts, failed: counts.failed + failedInFile }
}
