/** The metric for the time of the newest scheduled backup. `keystead status` reads it, without loading what makes backups. */
export const NEWEST_BACKUP_METRIC = "keystead_backup_last_success_timestamp_seconds";
