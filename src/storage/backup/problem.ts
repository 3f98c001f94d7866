/** Why a backup, a restore or a copy failed, as a message for the operator. */
export class BackupProblem extends Error {}
