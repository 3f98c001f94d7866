import { DAY_MS, HOUR_MS, MINUTE_MS, WEEK_MS } from "./durations.ts";

/** Every bound of the service that a client can meet. Operators read them in docs/guide/limits.md. */

/** Largest request body in bytes. Above the largest legal field, so that an oversized field is named. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Largest stamp header in bytes; a WebAuthn stamp with a long user handle is under 4 KiB. */
export const MAX_STAMP_BYTES = 16 * 1024;
/** Longest WebAuthn credential ID in bytes (WebAuthn Level 3, section 4). */
export const MAX_CREDENTIAL_ID_BYTES = 1023;
/** Characters of each part of an authenticator's attestation; with a certificate chain it is under 8 KiB. */
export const MAX_ATTESTATION_LENGTH = 64 * 1024;
/** Bound of all request headers together in bytes; beyond it the connection is answered and closed. */
export const MAX_HEADER_BYTES = 128 * 1024;
/** A connection must send a request's headers within this time ... */
export const HEADER_TIMEOUT_MS = 10_000;
/** ... the whole request within this one ... */
export const REQUEST_TIMEOUT_MS = 30_000;
/** ... and the next request within this one; over the minute after which load balancers give up unused connections. */
export const IDLE_TIMEOUT_MS = 72_000;
/** Requests that a connection may send ahead of the answers before them; each is looked at when its turn comes. */
export const MAX_PIPELINED_REQUESTS = 16;
/** A client must take an answer within this time ... */
export const ANSWER_GRACE_MS = 10_000;
/** ... and the time that the rest of it needs at this pace. */
export const MIN_ANSWER_BYTES_PER_SECOND = 32 * 1024;
/** Bytes of request bodies that are held at one time, each over the small ones counted ... */
export const MAX_HELD_BODY_BYTES = 128 * 1024 * 1024;
/** ... and of answers that are being sent ... */
export const MAX_HELD_ANSWER_BYTES = 128 * 1024 * 1024;
/** ... of which those of one address may take this part. */
export const MAX_SHARE_OF_ONE_ADDRESS = 1 / 4;
/** Bodies and answers up to this size are not counted: connections bound how many there are. */
export const SMALL_MESSAGE_BYTES = 64 * 1024;
/** Bytes of a body that count as one more request where requests are counted. */
export const BYTES_PER_TOKEN = 64 * 1024;
/** Seconds' worth of requests that may come at once after a pause. */
export const RATE_BURST_SECONDS = 10;
/** Organizations, credentials and addresses whose requests are counted; those unused for longest are forgotten. */
export const MAX_RATE_BUCKETS = 10_000;
/** Stamps of one credential from one address that are verified at a time, and ... */
export const MAX_IDENTIFICATIONS_OF_ONE_SENDER = 64;
/** ... requests of one organization that are worked on; more of them wait, and those of others do not. */
export const MAX_REQUESTS_OF_ONE_ORGANIZATION = 128;
/** ... While more than one organization sends, so few of all are (a setting), but for so many of each, and ... */
export const REQUESTS_THAT_NEVER_WAIT = 4;
/**
 * ... without those that have been worked on for so many milliseconds while others were answered: they wait for somebody else, and hold
 * nobody up.
 */
export const SHARED_REQUEST_COUNTED_MS = 100;
/**
 * An organization counts as one that sends for so many milliseconds after a request and so many answers to anybody, and for up to twice
 * that.
 */
export const OTHERS_REMEMBERED_MS = 250;
export const OTHERS_REMEMBERED_ANSWERS = 64;
/** Objects and arrays inside one another in a JSON body. */
export const MAX_JSON_DEPTH = 64;
/** Values in a JSON body: members of objects and entries of arrays, at every level. Looking at each takes its time. */
export const MAX_JSON_VALUES = 100_000;
/** Members of one object in a JSON body: of lists, time goes by their length, of objects by more. */
export const MAX_JSON_MEMBERS = 1000;
/** Names of members in a JSON body that differ, as they are written: nothing takes a parser as long, and lets nobody else go meanwhile. */
export const MAX_JSON_NAMES = 20_000;
/** A body larger than this is parsed in steps, between which other requests get their turn. */
export const LARGE_JSON_BYTES = 64 * 1024;

/** A request is accepted this long after its `timestampMs` ... */
export const MAX_REQUEST_AGE_MS = HOUR_MS;
/** ... and this far before it. */
export const MAX_CLOCK_AHEAD_MS = 5 * MINUTE_MS;
/** Equal sign-ups are one for so long, and for up to twice as long. */
export const EQUAL_ACTIVITIES_MS = 2 * MINUTE_MS;
/** So many of them that failed, or whose sub-organization is gone, are looked past for the next. */
export const MAX_EQUAL_ACTIVITIES = 8;
/** A vote counts this long; a later decision ignores it. */
export const VOTE_LIFETIME_MS = DAY_MS;

/** Characters of a name that people give: keys, users, tags, organizations. */
export const MAX_LABEL_LENGTH = 255;
/** Entries in a list of a request, where no narrower limit applies. */
export const MAX_LIST_LENGTH = 1000;
/** Characters of a payload to sign. */
export const MAX_PAYLOAD_LENGTH = 512 * 1024;
/** Characters of EIP-712 typed data: hashing it is work for the server, and more the more structs it holds. */
export const MAX_TYPED_DATA_LENGTH = 64 * 1024;
/** Payloads in one sign_raw_payloads. */
export const MAX_PAYLOADS = 100;
/** Signatures in one spark_sign_frost. */
export const MAX_SPARK_SIGNATURES = 600;
/** Leaves in one transfer or claim on Spark ... */
export const MAX_SPARK_LEAVES = 200;
/** ... and operators who are given packages, or commit to a signature. */
export const MAX_SPARK_OPERATORS = 64;
/** Characters of an operator's identifier. */
export const MAX_OPERATOR_ID_LENGTH = 255;
/** Bytes of a refund's signature. */
export const MAX_REFUND_SIGNATURE_BYTES = 256;
/** Bytes of all packages of one activity together: they grow with the leaves and with the square of the operators. */
export const MAX_SPARK_PACKAGES_BYTES = 2 * 1024 * 1024;
/** Struct types in one EIP-712 payload, the domain's included ... */
export const MAX_TYPED_DATA_TYPES = 64;
/** ... and characters of all their definitions together. A type's hash covers every type it refers to. */
export const MAX_TYPED_DATA_TYPES_LENGTH = 64 * 1024;
/**
 * Blocks of Keccak-256, of 136 bytes each, that hashing all EIP-712 payloads of a request takes, at some 4 microseconds each: every struct,
 * list and text takes one at least, and every type all definitions that it refers to.
 */
export const MAX_TYPED_DATA_BLOCKS = 5000;

/** Bytes of a PSBT: a legacy input brings along the whole transaction that it spends ... */
export const MAX_PSBT_BYTES = 1024 * 1024;
/** ... the transaction in it without signatures: four such bytes weigh what nodes relay at most ... */
export const MAX_UNSIGNED_BITCOIN_BYTES = 100_000;
/** ... its inputs: each legacy one to be signed hashes all others again ... */
export const MAX_PSBT_INPUTS = 1000;
/** ... and the records of all its maps together. */
export const MAX_PSBT_RECORDS = 20_000;
/** Bytes of a Tron transaction's `raw_data`: the network takes no more than 500 KiB in all. */
export const MAX_TRON_BYTES = 500 * 1024;
/** Bytes of a Solana transaction: what fits into one packet of its network. */
export const MAX_SOLANA_TRANSACTION_BYTES = 1232;
/** Values decoded of one Solana instruction, lists and structs included ... */
export const MAX_BORSH_VALUES = 2048;
/** ... and how deep they may stand inside one another. */
export const MAX_BORSH_DEPTH = 64;
/** Bytes of one unsigned EVM or Tempo transaction; nodes take no larger one into their pools. */
export const MAX_EVM_TRANSACTION_BYTES = 128 * 1024;
/** Byte strings and lists in one RLP encoding ... */
export const MAX_RLP_ITEMS = 16_384;
/** ... and lists inside one another. */
export const MAX_RLP_DEPTH = 16;
/** Functions of one smart contract interface. */
export const MAX_CONTRACT_FUNCTIONS = 2000;
/** Array dimensions of one type of a contract's interface ... */
export const MAX_ABI_DIMENSIONS = 16;
/** ... and those of all its types, together with the lists of its JSON. */
export const MAX_ABI_LISTS = 20_000;
/** Characters of an address that a request names. */
export const MAX_ADDRESS_LENGTH = 1024;
/** Levels of a derivation path below its `m`. */
export const MAX_PATH_LEVELS = 10;

/** What an organization may have, unless its operator sets another quota; as many come in one request in any case. */
export const MAX_USERS = 100;
export const MAX_PRIVATE_KEYS = 1000;
export const MAX_WALLETS = 100;
/** The highest quotas that operators can set: lists of these come in one answer ... */
export const HIGHEST_USERS = 1000;
export const HIGHEST_PRIVATE_KEYS = 10_000;
export const HIGHEST_WALLETS = 10_000;
/** ... these are counted each time that one is added ... */
export const HIGHEST_SUB_ORGANIZATIONS = 100_000;
/** ... and these once by each server. */
export const HIGHEST_ACTIVITIES_PER_MONTH = 10_000_000;
/** ... with their bytes, for which their rows are read. */
export const HIGHEST_ACTIVITY_BYTES_PER_MONTH = 100_000_000_000;
/** What `keystead organizations list` prints at most. */
export const MAX_LISTED_ORGANIZATIONS = 10_000;
/** So far apart the clocks of a server and its database are taken for the same, and so often a server looks. */
export const MAX_CLOCKS_APART_MS = 2_000;
export const CLOCK_LOOK_MS = 30_000;
/** ... and after a look during which its clock was set. */
export const CLOCK_LOOK_AGAIN_MS = 1000;
/** How often a server looks for what operators told it, and how often it says in the database that it is there ... */
export const SERVER_LOOK_MS = 1000;
export const SERVER_SIGN_MS = 10_000;
/** ... how long after that it counts as alive, and how long one that died is remembered ... */
export const SERVER_ALIVE_MS = 30_000;
export const SERVER_FORGOTTEN_MS = WEEK_MS;
/** ... and how long a command waits for the servers to go by what it told them. */
export const SERVER_TOLD_DEADLINE_MS = 15_000;
/** How long a server goes by what it knows of an organization's quota of activities. */
export const QUOTA_KEPT_MS = 1000;
/** How many activities are counted by one look. */
export const COUNTED_ACTIVITIES_AT_ONCE = 10_000;
/** ... and by one that asks for their bytes, for which their rows are read. */
export const SIZED_ACTIVITIES_AT_ONCE = 2000;
/** After this long an activity is stored, but for one whose transaction a struggling database held up. */
export const SETTLED_ACTIVITY_MS = 15_000;
/** How many rows one transaction adds to the counts of a day, at most but for those of one millisecond. */
export const COUNTED_ROWS_AT_ONCE = 1000;
/** Among how many organizations at a time the deleted ones are looked for of which counts are left. */
export const ORGANIZATIONS_LOOKED_AT_AT_ONCE = 500;
/** For how many days counts are kept, and how many of them one answer tells. */
export const DAYS_COUNTED = 400;
export const MAX_DAYS_TOLD = 90;
/** Accounts of a wallet that one request makes; a wallet may have any number. */
export const MAX_ACCOUNTS_PER_REQUEST = 100;
export const MAX_TAGS = 100;
export const MAX_POLICIES = 100;
export const MAX_SESSION_PROFILES = 100;
export const MAX_MFA_POLICIES_PER_USER = 20;
/** Groups of methods in one MFA policy, and methods in one group. */
export const MAX_MFA_METHODS = 10;
/** Rules of one IP allowlist. */
export const MAX_IP_RULES = 10;
/** Shortest prefix of such a rule, by the family of its addresses. */
export const MIN_IP_RULE_PREFIX = { 4: 20, 6: 48 } as const;
/** Entries of an X-Forwarded-For header that are looked at, from the right. */
export const MAX_FORWARDED_ADDRESSES = 32;
/** Invitations that are neither accepted nor revoked nor expired. */
export const MAX_OPEN_INVITATIONS = 100;
/** How long an invitation can be accepted. */
export const INVITATION_LIFETIME_MS = WEEK_MS;
export const MAX_SMART_CONTRACT_INTERFACES = 1000;
/** Bytes of the JSON of one smart contract interface (UTF-8) ... */
export const MAX_SMART_CONTRACT_INTERFACE_BYTES = 400 * 1024;
/** ... and of all of an organization, as one answer lists them all. */
export const MAX_SMART_CONTRACT_INTERFACES_BYTES = 16 * 1024 * 1024;
/** Parsed interfaces kept in memory, of contracts and of programs each, by number and by bytes of memory. */
export const MAX_CACHED_INTERFACES = 1000;
export const MAX_CACHED_INTERFACE_BYTES = 32 * 1024 * 1024;
/** Sub-organizations, the senior ones first, in which the maker of a stamp is looked for when it does not name one. */
export const MAX_HOLDERS = 16;
/** Stamps on an activity by tokens that show one contact or provider of a user, each bound to another key; the newest are kept. */
export const MAX_ATTESTATIONS = 4;
/** Stamps of a user on an activity beyond their vote, by whichever credentials; the newest are kept. */
export const MAX_FURTHER_STAMPS = 40;
/** Notes of the first use of a credential that wait for their commit; what comes beyond them is noted at its next use. */
export const MAX_OPEN_FIRST_USES = 1000;
export const MAX_AUTHENTICATORS_PER_USER = 10;
export const MAX_LASTING_API_KEYS_PER_USER = 10;
export const MAX_EXPIRING_API_KEYS_PER_USER = 10;
export const MAX_OAUTH_PROVIDERS_PER_USER = 10;
/** What an organization is known as at OAuth 2.0 providers. */
export const MAX_OAUTH2_CREDENTIALS = 25;
/** What an organization is known as at on-ramp providers. */
export const MAX_ON_RAMP_CREDENTIALS = 25;

/** Selectors of a policy in the older versions of create_policy; they become one expression, whose depth they add to. */
export const MAX_SELECTORS = 32;
/** Characters of one policy expression (UTF-16 code units). */
export const MAX_POLICY_LENGTH = 16 * 1024;
/** Characters of all expressions of an organization's policies together: each request has them all evaluated. */
export const MAX_POLICIES_LENGTH = 256 * 1024;
/** Parts of a policy expression inside one another. */
export const MAX_POLICY_DEPTH = 64;
/** Steps one evaluation of a policy expression may take; a list element visited or a list entry compared is a step. */
export const MAX_POLICY_STEPS = 100_000;
/** Sets of further approvals tried for one policy before it is taken that more approvals do not help ... */
export const MAX_CONSENSUS_TRIALS = 2_000;
/** ... and steps spent on such trials in one decision, over all its policies. */
export const MAX_CONSENSUS_STEPS = 300_000;
/** Steps spent on saying why each policy came to its outcome; the others are then told without. */
export const MAX_EXPLANATION_STEPS = 100_000;
/** Steps of all that is evaluated at a time: for one decision, and inside one transaction, for which others wait ... */
export const MAX_DECISION_STEPS = 600_000;
/** ... and for a whole request. */
export const MAX_REQUEST_STEPS = 4_000_000;
/** Time zones kept in memory; there are about 600 names of them. */
export const MAX_TIME_ZONES = 700;
/** Compiled expressions kept in memory, by number and by what they take. */
export const MAX_CACHED_EXPRESSIONS = 20_000;
export const MAX_CACHED_EXPRESSION_BYTES = 128 * 1024 * 1024;
/** Columns of values of expressions kept in memory for one list of policies, each of up to MAX_POLICIES values. */
export const MAX_REMEMBERED_COLUMNS = 64;
/** Classes of activities with their approvers, for which it is kept what all policies of one list came to. */
export const MAX_REMEMBERED_DECISIONS = 8;
/** Users kept in memory as the API shows them, by number and by bytes of their JSON. */
export const MAX_CACHED_USERS = 10_000;
export const MAX_CACHED_USER_BYTES = 64 * 1024 * 1024;
/** IP allowlists kept in memory with their blocks parsed, by number and by bytes of their JSON. */
export const MAX_CACHED_ALLOWLISTS = 1000;
export const MAX_CACHED_ALLOWLIST_BYTES = 4 * 1024 * 1024;
/** Filters of webhook subscriptions kept in memory, by number and by bytes of their JSON. */
export const MAX_CACHED_FILTERS = 1000;
export const MAX_CACHED_FILTER_BYTES = 4 * 1024 * 1024;
/** Lists of policies remembered as stored, by number and by what they take with what is remembered of them. */
export const MAX_REMEMBERED_POLICY_LISTS = 10_000;
/** Lists of policies kept with their ids, of about 5 kB each. */
export const MAX_KEPT_POLICY_LISTS = 1000;
export const MAX_REMEMBERED_POLICIES_BYTES = 128 * 1024 * 1024;

/** Bytes of an imported mnemonic with its passphrase; 24 words take under 1 KiB in every language. */
export const MAX_MNEMONIC_BYTES = 4096;
/** Bytes of an imported secret. */
export const MAX_SECRET_BYTES = 64 * 1024;
/** Secrets imported or exported by one request; the result of an activity is stored with it. */
export const MAX_SECRETS_PER_REQUEST = 10;
export const MAX_DELETED_SECRETS_PER_REQUEST = 32;
export const MAX_SECRETS = 1000;
/** Static properties of a secret, and what a request says about its export ... */
export const MAX_SECRET_PROPERTIES = 32;
/** ... and characters of the value of one. */
export const MAX_SECRET_PROPERTY_LENGTH = 1024;
/** An import must follow its initialization within this time ... */
export const IMPORT_KEY_LIFETIME_MS = DAY_MS;
/** ... and so many of one user's can be open, those of secrets apart from all others; the oldest make room. */
export const MAX_IMPORT_KEYS = 20;

/** Bytes of a request whose activity is to be proved: proofs carry the stamped bodies along ... */
export const MAX_PROVEN_BODY_BYTES = 64 * 1024;
/** ... of all approvals in one proof together, as they stand in it ... */
export const MAX_PROVEN_STATEMENT_BYTES = 1024 * 1024;
/** ... and addresses proved of one activity: the signer makes a signature for each. */
export const MAX_PROVEN_ADDRESSES = 100;
/** How often an activity is proved anew because its organization changed meanwhile. */
export const MAX_PREPARATIONS = 8;

/** Bytes of a body that is kept whole although it was denied ... */
export const MAX_DENIED_BODY_BYTES = 16 * 1024;
/** ... and of a larger one, the characters that are kept of its beginning, ... */
export const MAX_DENIED_MESSAGE_LENGTH = 4096;
/** ... of each text in its intent, ... */
export const MAX_DENIED_TEXT_LENGTH = 256;
/** ... and the entries of each list there; ... */
export const MAX_DENIED_LIST_LENGTH = 4;
/** ... of an intent that is large even so, each text, and one entry of each list. */
export const MIN_DENIED_TEXT_LENGTH = 16;
/** Denied activities of one organization that are stored in an hour, and at once ... */
export const DENIALS_OF_ONE_ORGANIZATION = { perHour: 1000, burst: 2000 } as const;
/** ... and those of one user. */
export const DENIALS_OF_ONE_USER = { perHour: 500, burst: 500 } as const;
/** Votes on an activity that others than an approver have cast: as many as an organization can have users. Those of deleted users stay. */
export const MAX_VOTES = 1000;
/** Bytes of the body of approve_activity and reject_activity: each stays with the activity. */
export const MAX_VOTE_BODY_BYTES = 4096;
/** Characters of the messages of all votes on an activity, where one is cast by sending the activity's body again. */
export const MAX_VOTE_MESSAGES_LENGTH = 8 * 1024 * 1024;

/** Stored bytes that requests read for their answers at one time, each over the small ones counted; one may be larger alone, ... */
export const MAX_READ_BYTES = 32 * 1024 * 1024;
/** ... and those of one organization. */
export const MAX_READ_BYTES_OF_ONE_ORGANIZATION = 8 * 1024 * 1024;
/** The newest attempts of a webhook's delivery, and ... */
export const MAX_SHOWN_ATTEMPTS = 100;
/** ... the newest evaluations of the policies for one activity, that a query shows. */
export const MAX_SHOWN_EVALUATIONS = 500;
/** Bytes of what is stored of the activities on one page of list_activities, but for the first of them. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Objects on one page of a list query. */
export const MAX_PAGE_SIZE = 100;
export const DEFAULT_PAGE_SIZE = 10;
/** Characters of a cursor that names a place in such a list. */
export const MAX_CURSOR_LENGTH = 256;

/** Answers that one transaction keeps for those that ask the same in it, and the most rows of one. */
export const MAX_KEPT_ANSWERS = 1000;
export const MAX_KEPT_ROWS = 100;
/** Of these, how many are asked anew at once when a statement makes them untrue. */
export const MAX_ASKED_ANEW = 8;
/** Parts of the state of authority that the functions of one transaction hand on to each other; beyond that they are loaded anew. */
export const MAX_KNOWN_PARTS = 10_000;
/** Answers about who may do what that a server on SQLite keeps until they change, and about how many bytes they take. */
export const MAX_KEPT_READS = 20_000;
export const MAX_KEPT_READ_BYTES = 16 * 1024 * 1024;
/** How long a request may wait for its durable commit. */
export const COMMIT_DEADLINE_MS = 15_000;
/** How long work that an outage of the database cut off is tried again; after so long an outage everybody is told at once. */
export const OUTAGE_PATIENCE_MS = 5_000;
/** Rows of an organization that SQLite deletes at a time where there may be any number: at about 12 microseconds each, a piece of work. */
export const MAX_DELETED_ROWS = 500;
/** Accounts of wallets that SQLite deletes with them in one request: nobody's write gets through meanwhile. */
export const MAX_ACCOUNTS_WITH_WALLETS = 50_000;
/** Rows of one table that go with a sub-organization, or with a webhook endpoint, in the transaction that deletes it; of more, a job erases what there may be any number of ... */
export const MAX_ERASED_AT_ONCE = 5000;
/** ... each run for so long, and with such a pause before the next. */
export const ERASURE_RUN_MS = 1000;
export const ERASURE_PAUSE_MS = 50;
/** When whoever reads a sub-organization that is being erased may come back. */
export const ERASURE_RETRY_SECONDS = 5;
/** What waits for a connection to PostgreSQL at most; the rest is refused at once. */
export const MAX_DATABASE_WAITING = 10_000;
/** How long a transaction waits for another process that writes to the same SQLite file. */
export const SQLITE_LOCK_DEADLINE_MS = 5_000;
/** How often it is looked whether the files of a SQLite database are still in their place, beside once for each commit. */
export const FILE_WATCH_MS = 250;
/** How long a look at the database's health may take ... */
export const HEALTH_DEADLINE_MS = 600;
/** ... and how long what it found stands for all who ask. */
export const HEALTH_LIFETIME_MS = 250;
/** How long `keystead doctor` waits for a connection to the database, and for each of its answers ... */
export const INSPECTION_DEADLINE_MS = 5_000;
/** ... for each step of a mail server, a node or the public URL ... */
export const DOCTOR_STEP_MS = 15_000;
/** ... and for each check as a whole. */
export const DOCTOR_CHECK_MS = MINUTE_MS;
/** Up to so many completed activities that say who may do what, `keystead doctor` looks for rows that none accounts for ... */
export const MAX_DOCTOR_ACTIVITIES = 50_000;
/** ... as long as there are no more of any kind than these, which it has to go through ... */
export const MAX_DOCTOR_ACTIVITIES_IN_ALL = 200_000;
/** ... and for so long. */
export const DOCTOR_PROVENANCE_MS = 30_000;
/** What rows of authority claim is held for so many claims at once, for each of which all activities are gone through ... */
export const MAX_AUTHORITY_CLAIMS = 200_000;
/** ... in pages of so many rows, or of so many that may be large: activities, and interfaces of contracts. */
export const AUTHORITY_ROWS_AT_ONCE = 1_000;
export const AUTHORITY_LARGE_ROWS_AT_ONCE = 50;
/** ... and of activities of any kind so many are gone through for one page. */
export const AUTHORITY_STRETCH = 20_000;
/** Of a file that holds one secret of the configuration. */
export const MAX_SECRET_FILE_BYTES = 64 * 1024;
/** How long `keystead status` waits for each answer of a server, which is at most so long in bytes. */
export const STATUS_DEADLINE_MS = 5_000;
export const MAX_STATUS_BYTES = 1024 * 1024;
/** Jobs of one state that are counted for the metrics; there may be more. */
export const MAX_COUNTED_JOBS = 10_000;
/** Webhook endpoints that take nothing, counted for the metrics; there may be more. */
export const MAX_COUNTED_ENDPOINTS = 10_000;
/** What `keystead jobs lanes` and `keystead webhooks failing` print at most ... */
export const MAX_LISTED_LANES = 1000;
/** ... and of how many deliveries of each endpoint the last attempt is looked for. */
export const FAILING_ENDPOINT_DELIVERIES = 20;
/** How long writes count as failing after one that failed because of the database. */
export const FAILED_WRITE_MS = 750;
/** With less room on its disk a SQLite database is full: a commit of many changes may need as much. */
export const SQLITE_LEAST_FREE_BYTES = 4 * 1024 * 1024;
/** Those of the database, of requests to others and of what a server writes: with fewer to spare it warns when it starts. */
export const OPEN_FILES_BESIDE_CONNECTIONS = 512;
/** With less room where it writes, `keystead doctor` warns of a folder, and fails. */
export const LOW_ROOM_BYTES = 1024 ** 3;
export const NO_ROOM_BYTES = 64 * 1024 * 1024;
/** How long the signer may work on one request, and how long it may give no sign of life while it has one. */
export const SIGNER_DEADLINE_MS = 10_000;
/** How long a signer that is started may take until its first. */
export const SIGNER_START_MS = MINUTE_MS;
/** Requests of one organization that wait for the signer ... */
export const MAX_SIGNER_WAITING = 1000;
/** ... what they may cost together, in units of `signer/cost.ts`, of which the signer does about ten in a millisecond ... */
export const MAX_SIGNER_WAITING_COST = 150_000;
/** ... and those of all organizations: beyond it each may have one request waiting. */
export const MAX_SIGNER_WAITING_COST_IN_ALL = 600_000;
/** What the signer has in hand of one organization at once: requests of this cost together, or one that costs more ... */
export const MAX_SIGNER_WINDOW_COST = 128;
/** ... and requests in all. */
export const MAX_SIGNER_WINDOW = 1000;
/** Largest frame between server and signer in bytes: a body in JSON twice over, with what it asks to sign. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** How long a stopping server waits for open requests. */
export const DRAIN_DEADLINE_MS = 10_000;
/** How long it waits after that for running jobs. */
export const JOB_STOP_DEADLINE_MS = 5000;

/** Characters of a URL that the service calls on behalf of an organization. */
export const MAX_URL_LENGTH = 2048;
/** All headers of the answer to an outbound request together in bytes. */
export const MAX_ANSWER_HEADER_BYTES = 16 * 1024;
/** Open outbound connections to one host and port; further requests wait their turn. */
export const MAX_CONNECTIONS_PER_HOST = 8;
/** Open outbound connections of one scheme altogether. */
export const MAX_CONNECTIONS = 128;
/** Webhook endpoints that one process delivers to at a time: fewer than it has workers for jobs, which are as many as connections ... */
export const MAX_WEBHOOK_LANES = 96;
/** ... and of them, those of all sub-organizations of one parent; of one organization as many as one host has connections. */
export const MAX_WEBHOOK_LANES_BELOW_ONE_PARENT = 24;
/** How long an unused outbound connection is kept; under the five seconds after which many receivers close theirs. */
export const IDLE_CONNECTION_MS = 4000;

/** Characters of a link's template in a mail, ... */
export const MAX_MAGIC_LINK_LENGTH = 2048;
/** ... of the JSON of a mail's variables ... */
export const MAX_TEMPLATE_VARIABLES_LENGTH = 4096;
/** ... with so many members ... */
export const MAX_TEMPLATE_VARIABLES = 32;
/** ... and of a text message's template. */
export const MAX_SMS_TEMPLATE_LENGTH = 1000;
/** How long a message may wait to be sent; one that is only good for a shorter time is dropped when that is over. */
export const MAX_MESSAGE_LIFETIME_MS = WEEK_MS;
/** How long events of webhooks and of mail are kept, unless the operator says otherwise. */
export const DEFAULT_RETENTION_DAYS = 30;
/** Bytes of one message of Amazon SNS; it sends no larger ones. */
export const MAX_SNS_MESSAGE_BYTES = 300 * 1024;
/** How old such a message may be. */
export const MAX_SNS_MESSAGE_AGE_MS = HOUR_MS;

/** Nodes of one chain; one after the other is asked until one answers. */
export const MAX_RPC_URLS = 8;
/** How long a node may take over one call ... */
export const NODE_TIMEOUT_MS = 10_000;
/** ... and how large its answer may be in bytes: several times the largest transaction, which stands in it in hex. */
export const MAX_NODE_ANSWER_BYTES = 1024 * 1024;
/** The same for what is read of a whole block: its transactions, its traces, its receipts, or one of them where they are larger. */
export const MAX_BLOCK_ANSWER_BYTES = 16 * 1024 * 1024;
/** Calls inside the transactions of one block that are looked at; of a block with more, none are. */
export const MAX_BLOCK_CALLS = 200_000;
/** Blocks that a chain's watcher reads at one time ... */
export const MAX_BLOCKS_AT_ONCE = 3;
/** ... and that it follows until it stores them, at most, ... */
export const MAX_BLOCKS_PER_TURN = 32;
/** ... or for as long as this takes, ... */
export const WATCHER_TURN_MS = 10_000;
/** ... or until they hold so many transactions of known addresses. */
export const MAX_ENTRIES_PER_TURN = 2000;
/** Organizations with the same address whose histories a transaction of it gets into: the oldest ones. */
export const MAX_OWNERS_PER_ADDRESS = 64;
/** Addresses that one look-up asks for; ordinary blocks have fewer. */
export const MAX_ADDRESSES_PER_LOOKUP = 10_000;
/** Blocks whose hashes are kept: a reorganization goes back no further. */
export const MAX_KEPT_BLOCKS = 256;
/** Transactions that are told to webhooks in one transaction of the database. */
export const MAX_TOLD_AT_ONCE = 100;
/** Transfers of one transaction that its history shows for an address. */
export const MAX_SHOWN_TRANSFERS = 200;
/** What a node says of an address's token accounts on Solana, in bytes: about 10,000 of them. */
export const MAX_TOKEN_ACCOUNTS_ANSWER_BYTES = 4 * 1024 * 1024;
/** Tokens that an operator adds to one chain, and prices of assets: one call asks for all balances. */
export const MAX_TOKENS_PER_CHAIN = 64;
export const MAX_PRICES = 1000;
/** How often a chain's nodes must refuse a transaction until that is their last word. */
export const MAX_BROADCAST_REFUSALS = 4;

/** How long a blockhash that was fetched serves all who ask for one: as long as a slot takes. */
export const KEPT_BLOCKHASH_MS = 400;
/** How often a blockhash is looked for that the same transaction was not sent with yet, that long apart. */
export const MAX_BLOCKHASH_LOOKS = 10;
/** Messages that one process remembers having chosen a blockhash for. */
export const MAX_CHOSEN_BLOCKHASHES = 10_000;
/** The most that the service pays in fees for one Solana transaction, in lamports: 0.01 SOL ... */
export const MAX_SPONSORED_FEE_LAMPORTS = 10_000_000n;
/** ... and for the rent of accounts that it creates: 0.05 SOL, about 24 token accounts. */
export const MAX_SPONSORED_RENT_LAMPORTS = 50_000_000n;
/** What each signer has when it is found out which these are: a rest of it must be enough for an account of its own. */
export const LENT_LAMPORTS = MAX_SPONSORED_RENT_LAMPORTS + 1_000_000n;
/** Accounts that one sponsored transaction creates and that are looked at. */
export const MAX_CREATED_ACCOUNTS = 64;
/** Millionths of a lamport for a compute unit that are added where a transaction says none: from this ... */
export const LEAST_UNIT_PRICE = 1000;
/** ... to this, whatever nodes tell. */
export const MOST_UNIT_PRICE = 1_000_000;
/** What a node says of a transaction that is tried out before it is signed, in bytes: its accounts may hold much. */
export const MAX_TRIAL_ANSWER_BYTES = 16 * 1024 * 1024;
/** Accounts that sign one Solana transaction; fewer fit into a packet. */
export const MAX_SOLANA_SIGNERS = 16;
/** Transactions of one organization that are on their way: as many as a node tells the status of in one answer. */
export const MAX_OPEN_SENDS = 256;
/** Below this a sponsor's account is told to be poor: 0.02 of an Ethereum chain's asset in wei, ... */
export const POOR_SPONSOR_WEI = 20_000_000_000_000_000n;
/** ... 0.02 SOL in lamports, twice the most that one transaction costs, ... */
export const POOR_SPONSOR_LAMPORTS = 2n * MAX_SPONSORED_FEE_LAMPORTS;
/** ... and, where rent is paid, what is lent to as many signers as fit into a transaction, and one more: 0.612 SOL. */
export const POOR_RENT_SPONSOR_LAMPORTS = 12n * LENT_LAMPORTS;
/** Between two looks at what sponsors' accounts have, while somebody asks. */
export const SPONSOR_LOOK_MS = 30_000;
/** Transactions that a sponsor's account pays for and that are followed at once; those after them wait. */
export const MAX_FOLLOWED_SPONSORED = 256;
/** Gas of one sponsored transaction: as much as Ethereum's blocks take of one (EIP-7825). */
export const MAX_SPONSORED_GAS = 16_777_216n;
/** The most that one sponsored transaction may cost, in US dollars, where the price of the chain's asset is known. */
export const MAX_SPONSORED_USD = "1000000";
/** The window of limits on what sponsoring costs: 30 days. */
export const MAX_GAS_WINDOW_MINUTES = 43_200;
/** Calls of one request to send; the interface knows so many, and several take a gas station. */
export const MAX_SENT_CALLS = 50;
/** Requests to send that ask nodes what they take, and apart from them lists of earn, at a time of one parent with all its own, ... */
export const MAX_PLANNED_AT_ONCE = 4;
/** ... and with those that wait for that; others are told to come back. */
export const MAX_WAITING_PLANS = 256;
/** How long fees that a node told serve all who ask for them. */
export const KEPT_FEES_MS = 1000;
/** How long the number of the newest block that a node told serves all who follow transactions of that chain. */
export const KEPT_NEWEST_BLOCK_MS = 25;
/** Wei: no more than this is paid for a unit of gas unless the request says so, whatever a node says. */
export const MAX_FEE_PER_GAS = 100_000n * 1_000_000_000n;
/** Wei: the most that one transaction may cost in fees by the word of nodes, where its account pays and where the sponsor does. */
export const TX_FEE_CAP = 1_000_000_000_000_000_000n;
export const SPONSORED_TX_FEE_CAP = 500_000_000_000_000_000n;
/** No chain has more blocks or slots: with a transaction's place in its block a number of it is a safe integer still. */
export const MAX_BLOCK_NUMBER = 2 ** 33 - 1;
/** Seconds: beyond that no date can be written (ECMA-262, section 21.4.1.1). */
export const MAX_BLOCK_TIME = 8_640_000_000_000;
/** The largest nonce that is taken; JSON and the databases hold it exactly, and no account will ever get there. */
export const MAX_NONCE = Number.MAX_SAFE_INTEGER - 1;
/**
 * Transactions of an account that somebody else has sent and that wait for a block, by a node's word: as many as geth keeps of one that come
 * after a gap. More are hardly there, and what is signed with a nonce after them waits for all of them.
 */
export const MAX_STRANGERS_WAITING = 64;
/** Blocks on top of a transaction's own after which nobody looks after it any more. */
export const SETTLED_BLOCKS = 12;
/** Bytes that are kept of what a call reverted with. */
export const MAX_REVERT_BYTES = 4096;
/** Lines that are kept of a failed transaction's log, the last ones, ... */
export const MAX_LOGS = 100;
/** ... characters of each, ... */
export const MAX_LOG_LENGTH = 500;
/** ... and characters of its error and of its inner instructions in JSON, each. */
export const MAX_FAILURE_JSON_LENGTH = 16 * 1024;

/** One-time codes: their life unless said and at most, in seconds. */
export const OTP_SECONDS = 300;
export const MAX_OTP_SECONDS = 600;
export const OTP_LENGTHS = { least: 6, most: 9, unlessSaid: 9 };
/** How long sessions may last that the auth proxy signs people in for. */
export const MAX_AUTH_PROXY_SESSION_SECONDS = 30 * 86_400;
/** ... what it takes of a body in bytes, and origins and client ids in its configuration. */
export const MAX_AUTH_PROXY_BODY_BYTES = 256 * 1024;
export const MAX_AUTH_PROXY_ENTRIES = 100;
/** How long a captcha's provider may take over its answer, and how large that may be in bytes. */
export const CAPTCHA_TIMEOUT_MS = 5000;
export const MAX_CAPTCHA_ANSWER_BYTES = 16 * 1024;
/** Captchas of one organization that are verified at a time, and in all: no more than a host has connections. */
export const MAX_CAPTCHAS_OF_ONE_ORGANIZATION = 4;
export const MAX_CAPTCHAS = 8;
/** Captchas of one organization that are verified or wait to be; each waits as long as an answer may take. */
export const MAX_WAITING_CAPTCHAS = 64;
/** Characters of the token that a captcha gave; Turnstile's have 2048 at most. */
export const MAX_CAPTCHA_TOKEN_LENGTH = 4096;
/** Wrong guesses at one code. */
export const MAX_OTP_TRIES = 3;
/** Codes of one contact that are good at the same time. */
export const MAX_LIVE_OTPS = 3;
/** Starts with one contact, and wrong guesses at all its codes, within this time. */
export const OTP_WINDOW_MS = 180_000;
export const MAX_OTP_STARTS = 3;
export const MAX_OTP_FAILURES = 9;
/** Plaintext of a client's guess: a code and a public key. */
export const MAX_OTP_BUNDLE_BYTES = 1024;
/** Tokens that prove a contact: their life unless said and at most, in seconds. */
export const VERIFICATION_TOKEN_SECONDS = 3600;
export const MAX_VERIFICATION_TOKEN_SECONDS = 86_400;
/** So long after a token's end its use is still known: a clock may be ahead for a while, or be set back. */
export const USED_TOKENS_KEPT_MS = DAY_MS;

/** Characters of an OIDC token ... */
export const MAX_OIDC_TOKEN_LENGTH = 64 * 1024;
/** ... and of its issuer, its subject and its audience; ... */
export const MAX_OIDC_CLAIM_LENGTH = 255;
/** ... and tokens in one request: each may have another issuer asked. */
export const MAX_OIDC_TOKENS = 100;
/** How far the clocks of this server and of an issuer may be apart. */
export const OIDC_CLOCK_SKEW_MS = MINUTE_MS;
/** How long an issuer may take over its discovery document, and as long again over its keys ... */
export const ISSUER_TIMEOUT_MS = 5_000;
/** ... how large each may be in bytes ... */
export const MAX_ISSUER_DOCUMENT_BYTES = 128 * 1024;
/** ... and how many keys there may be. */
export const MAX_ISSUER_KEYS = 64;
/** An issuer's keys are kept as long as it says, but no shorter and no longer than this; if it says nothing, ... */
export const MIN_KEY_SET_LIFETIME_MS = 30_000;
export const MAX_KEY_SET_LIFETIME_MS = DAY_MS;
/** ... this long. */
export const DEFAULT_KEY_SET_LIFETIME_MS = 5 * MINUTE_MS;
/** A token that is signed with none of the keys has its issuer asked again, at most once in this time ... */
export const UNKNOWN_KEY_PAUSE_MS = 30_000;
/** ... and an issuer that gave no keys is left alone this long. */
export const ISSUER_FAILURE_PAUSE_MS = 5_000;
/** Issuers whose keys are kept, by bytes of their answers; so many by themselves that gave none ... */
export const MAX_KNOWN_ISSUER_BYTES = 16 * 1024 * 1024;
export const MAX_UNUSABLE_ISSUERS = 1000;
/** ... and issuers that are asked at one time, for one organization and in all. */
export const MAX_ISSUER_FETCHES_OF_ONE_ORGANIZATION = 4;
export const MAX_ISSUER_FETCHES = 64;
/** Of one parent with its sub-organizations, under way and waiting: far fewer than it may have requests, of which each waiting one is. */
export const MAX_WAITING_ISSUER_FETCHES = 32;

/** Bytes of an OAuth 2.0 client secret ... */
export const MAX_CLIENT_SECRET_BYTES = 4096;
/** ... and characters of the code, the verifier and the URL of an exchange, each. */
export const MAX_OAUTH2_FIELD_LENGTH = 4096;
/** How long an OAuth 2.0 provider may take over each of its two answers, and how large they may be in bytes. */
export const OAUTH2_TIMEOUT_MS = 10_000;
export const MAX_OAUTH2_ANSWER_BYTES = 64 * 1024;
/** How many codes are exchanged at a time, of one parent with its sub-organizations and in all. */
export const MAX_EXCHANGES_OF_ONE_ORGANIZATION = 4;
export const MAX_EXCHANGES = 64;
/** Of one parent with its sub-organizations, under way and waiting. */
export const MAX_WAITING_EXCHANGES = 32;
/** How long what a code was exchanged for is kept, for the same request again while its activity is being stored ... */
export const EXCHANGE_LIFETIME_MS = MINUTE_MS;
/** ... and how many such are kept. */
export const MAX_KEPT_EXCHANGES = 1000;
/** How long a token is good that this service issues for somebody known to an OAuth 2.0 provider. */
export const ISSUED_TOKEN_LIFETIME_MS = 15 * MINUTE_MS;

/** Bytes of a secret or private key of an on-ramp provider; a PEM of P-256 has under 300. */
export const MAX_ON_RAMP_SECRET_BYTES = 1024;
/** How long an on-ramp provider may take over an answer, and as long again may a request wait for its turn ... */
export const ON_RAMP_TIMEOUT_MS = 10_000;
/** ... how large the answer may be in bytes ... */
export const MAX_ON_RAMP_ANSWER_BYTES = 128 * 1024;
/** ... and how many requests are under way at a time for one parent with its sub-organizations, and in all. */
export const MAX_ON_RAMP_CALLS_OF_ONE_ORGANIZATION = 4;
export const MAX_ON_RAMP_CALLS = 64;
export const MAX_WAITING_ON_RAMP_CALLS = 32;
/** Looks at a provider for the status of purchases, for one parent with its sub-organizations. */
export const ON_RAMP_REFRESHES = { perSecond: 10, burst: 100 } as const;

/** Bytes of one row in a backup: a stamped body of the largest size, kept with its intent and escaped in JSON, has under half. */
export const MAX_BACKUP_LINE_BYTES = 64 * 1024 * 1024;
/** How old activities are at least before they are archived: the figures of the present month and answers to late votes need them. */
export const MIN_ARCHIVE_AGE_MS = 35 * DAY_MS;
/** How often an archive command says to PostgreSQL that it is still there, which would take its lock back after 10 minutes. */
export const ARCHIVE_LOCK_BEAT_MS = MINUTE_MS;
/** Activities that are read for an archive, or removed after it, at once. */
export const ARCHIVED_ACTIVITIES_AT_ONCE = 50;
/** Operators of one set ... */
export const MAX_TVC_OPERATORS_OF_SET = 50;
/** ... and of one organization, with how many sets and apps it may have, ... */
export const MAX_TVC_OPERATORS = 1000;
export const MAX_TVC_OPERATOR_SETS = 1000;
export const MAX_TVC_APPS = 100;
/** Quorum keys that an organization may have made. */
export const MAX_TVC_QUORUM_KEYS = 100;
/** ... and deployments of one app that are not cleaned up. */
export const MAX_TVC_DEPLOYMENTS = 50;
/** The newest deployments of an app, which lists show. */
export const MAX_LISTED_TVC_DEPLOYMENTS = 200;
/** Replicas of one deployment; each has an address of its own on the loopback network. */
export const MAX_TVC_REPLICAS = 10;
/** Deployments of which a server remembers whether their manifests are approved. */
export const MAX_REMEMBERED_JUDGEMENTS = 1000;
/** Arguments of a program, and characters of each. */
export const MAX_PIVOT_ARGS = 100;
export const MAX_PIVOT_ARG_LENGTH = 1024;
/** ... and bytes of all of them in JSON: what runs on a server is told to its runner in one frame. */
export const MAX_PIVOT_ARGS_BYTES = 16 * 1024;
/** Characters in base64 of a manifest that is handed back: with names of 50 operators in each set, and arguments in full. */
export const MAX_SHOWN_MANIFEST_DIGITS = 256 * 1024;
/** ... and of the document about a runner's key. */
export const MAX_SHOWN_PROVISIONING_DIGITS = 4096;
/** Characters of the path of a program in its image. */
export const MAX_PIVOT_PATH_LENGTH = 512;
/** Deployments that an organization may ever make; their records stay. */
export const MAX_TVC_DEPLOYMENTS_EVER = 10_000;
/** Bytes of a secret to pull images with, which may be for several registries. */
export const MAX_PULL_SECRET_BYTES = 16 * 1024;
/** How long reading from an image's registry may take altogether, and how many reads there are at a time of one parent and in all. */
export const IMAGE_TIMEOUT_MS = MINUTE_MS;
export const MAX_IMAGE_READS_OF_ONE_ORGANIZATION = 2;
export const MAX_IMAGE_READS = 8;
export const MAX_WAITING_IMAGE_READS = 32;
/** Bytes of an image's manifest, of a layer as it is sent and unpacked, ... */
export const MAX_IMAGE_MANIFEST_BYTES = 4 * 1024 * 1024;
export const MAX_IMAGE_LAYER_BYTES = 128 * 1024 * 1024;
export const MAX_UNPACKED_LAYER_BYTES = 1024 * 1024 * 1024;
/** ... how many layers, and bytes of the one file that is taken out of them. */
export const MAX_IMAGE_LAYERS = 127;
export const MAX_PROGRAM_BYTES = 128 * 1024 * 1024;
/** Longer than any lease, of a lane of jobs with its rest or of a deployment: one that ends later was given by a clock that has been set back since. */
export const LONGEST_LEASE_MS = 5 * MINUTE_MS;
/** Deployments that one server runs at a time: each has 254 addresses on the loopback network. */
export const MAX_RUN_DEPLOYMENTS = 64;
/** ... and of them, those of one parent with its sub-organizations: the oldest. */
export const MAX_RUN_DEPLOYMENTS_OF_ONE_ORGANIZATION = 16;
/**
 * ... and of those that a server could run, which it chooses from at each look: room for all that are refused in the 15 seconds until the
 * first of them are judged again, 16 every half a second.
 */
export const MAX_CONSIDERED_DEPLOYMENTS_OF_ONE_ORGANIZATION = 512;
/** Programs that a server keeps beside those that it runs, of deployments that were deleted and can be restored: those deleted last. */
export const MAX_KEPT_PROGRAMS = 64;
/** What is kept of the log of one replica: lines, and characters of each. */
export const MAX_LOG_LINES = 1000;
export const MAX_LOG_LINE_LENGTH = 4096;
/** ... and bytes in JSON of what is shown of all replicas' logs at once: the newest lines. */
export const MAX_SHOWN_LOG_BYTES = 1024 * 1024;
/** Bytes that a program may write to one file, files that it may have open, and processes of its user. */
export const PROGRAM_FILE_BYTES = 256 * 1024 * 1024;
export const PROGRAM_OPEN_FILES = 1024;
export const PROGRAM_PROCESSES = 256;
/** Bytes on the disk that a replica may keep in its folder. If it keeps more, it is ended and starts again with an empty folder ... */
export const PROGRAM_FOLDER_BYTES = 1024 ** 3;
/** ... and files and folders that it may keep there; both are checked once in this time. */
export const PROGRAM_FOLDER_ENTRIES = 10_000;
export const FOLDER_CHECK_EVERY_MS = 5000;
/** How often a replica is asked for its health, and how long it may take over the answer. */
export const HEALTH_CHECK_EVERY_MS = 1000;
export const HEALTH_CHECK_TIMEOUT_MS = 2000;
/** Requests to apps that one server passes on at a time, to one app and in all, and how long an app may be silent. */
export const MAX_INGRESS_OF_ONE_APP = 128;
export const MAX_INGRESS = 1024;
export const INGRESS_TIMEOUT_MS = MINUTE_MS;
/** Vaults to earn in that the catalog holds ... */
export const MAX_EARN_VAULTS = 100;
/** ... and wrappers of an organization over them; each was deployed at the service's expense. */
export const MAX_EARN_WRAPPERS = 100;
/** How long what shares of vaults were worth is kept. */
export const EARN_PRICES_KEPT_MS = 31 * DAY_MS;
/** How long the link of the first start makes a passkey for the root user. */
export const FIRST_VISIT_MS = 15 * MINUTE_MS;
/** How long everything that one request has asked of a swap provider may take: tries, and pauses between them. */
export const SWAP_PROVIDER_TOTAL_MS = 19_000;
/** How often what fails only for the moment is tried, and how long the first pause between two tries is. */
export const SWAP_PROVIDER_TRIES = 3;
export const SWAP_PROVIDER_PAUSE_MS = 400;
/** Bytes of an answer; a quote has some tens of thousands. */
export const MAX_SWAP_ANSWER_BYTES = 512 * 1024;
/** How many requests are under way at a time for one parent with its sub-organizations, and in all. */
export const MAX_SWAP_CALLS_OF_ONE_ORGANIZATION = 8;
export const MAX_SWAP_CALLS = 64;
/** Bytes of what a provider has a wallet call. */
export const MAX_SWAP_CALL_BYTES = 32 * 1024;
/** The most that an organization takes of a swap, in basis points. */
export const MAX_SWAP_FEE_BPS = 500;
/** Quotes of one organization that have not been used and are kept; the oldest make room. */
export const MAX_SWAP_QUOTES = 1000;
/** How long after the end of its quote a swap waits for its turn to be signed: what was simulated may be something else by then. */
export const SWAP_TURN_MS = 5 * MINUTE_MS;
/** How long a swap that failed is asked about, as its refund may be told late. */
export const SWAP_REFUND_MS = DAY_MS;
/** Of a swap on Solana: accounts that it may write to, and instructions of an offer ... */
export const MAX_SWAP_WRITABLE_ACCOUNTS = 64;
export const MAX_SWAP_INSTRUCTIONS = 64;
/** ... bytes of an account in which the wallet is looked for ... */
export const MAX_SWAP_ACCOUNT_BYTES = 1024;
/** ... and lamports that the wallet may be made to pay for its place in a block. */
export const MAX_SWAP_LAMPORTS_OF_FEES = 10_000_000n;
/** Logs of one simulated swap that are looked at. */
export const MAX_SWAP_LOGS = 1000;
/** Lines of the audit stream that may wait for one sink, unless set ... */
export const MAX_AUDIT_BACKLOG = 100_000;
/** ... and how many go to it at a time. */
export const AUDIT_BATCH = 500;
/** How long lines are gathered before they go, how often a sink is looked at, and the longest pause after a failure. */
export const AUDIT_GATHER_MS = 100;
export const AUDIT_LOOK_MS = 1000;
export const AUDIT_RETRY_MS = 30_000;
/** From how many lines on a backlog is counted less often, and how often. */
export const LARGE_AUDIT_BACKLOG = 10_000;
export const LARGE_AUDIT_BACKLOG_LOOK_MS = 10_000;
/** How long one attempt may take, and the last one of a server that stops. */
export const AUDIT_ATTEMPT_MS = 10_000;
export const AUDIT_STOP_MS = 1000;
/** Bytes of an audit receiver's answer. */
export const MAX_AUDIT_ANSWER_BYTES = 4096;
/** Characters of a public key in a line of the audit stream; those of all kinds are shorter. */
export const MAX_AUDIT_KEY_LENGTH = 512;
/** Refused authentications that have a line of their own, of all senders together; the others are counted. */
export const REFUSAL_LINES = { perSecond: 5, burst: 200 };
/** Lines of refused authentications that are held for a sink. */
export const MAX_REFUSALS_HELD = 1000;
/** When clients may come back that were refused because of the audit stream. */
export const AUDIT_BLOCKED_SECONDS = 5;
/** Spans of traces that wait for the collector, how many go to it at a time, and how long they are gathered before they go. */
export const MAX_TRACE_SPANS = 8192;
export const TRACE_BATCH = 512;
export const TRACE_GATHER_MS = 1000;
/** How long one attempt may take, and the last ones of a server that stops; the longest pause after a failure. */
export const TRACE_ATTEMPT_MS = 10_000;
export const TRACE_STOP_MS = 1000;
export const TRACE_RETRY_MS = 30_000;
/** Bytes of a collector's answer. */
export const MAX_TRACE_ANSWER_BYTES = 4096;
/** Requests that are traced beyond the ratio because their clients trace them, of all clients together. */
export const CONTINUED_TRACES = { perSecond: 10, burst: 100 };
/** Of how many activities of a user, from the cursor on, a list looks for those of a type or status. */
export const MAX_USER_ACTIVITIES_LOOKED_THROUGH = 5000;

/** How long after a test event an endpoint is sent no other one. */
export const WEBHOOK_TEST_PAUSE_SECONDS = 5;

/** Bytes of a webhook's event that was stored compressed: far more than an activity can have. */
export const MAX_WEBHOOK_EVENT_BYTES = 64 * 1024 * 1024;

/** Characters of the log that wait while they cannot be written; further lines are lost, and counted. */
export const MAX_WAITING_LOG_LENGTH = 8 * 1024 * 1024;
/** After which it is tried again. */
export const LOG_RETRY_MS = 100;

/** Accounts of which it is remembered which nonce of the gas station a block had last ... */
export const MAX_REMEMBERED_EXECUTIONS = 10_000;
/** ... and for how long: a node that has less after that is not behind, a reorganization has undone it. */
export const NODE_BEHIND_MS = MINUTE_MS;
