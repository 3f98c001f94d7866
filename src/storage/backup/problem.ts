/** Why a backup, a restore or a copy cannot be, in words for the operator. */
export class BackupProblem extends Error {}
