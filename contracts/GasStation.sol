// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ERC1155Holder} from "@openzeppelin/contracts/token/ERC1155/utils/ERC1155Holder.sol";
import {ERC721Holder} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";

/// Executes calls of an account that somebody else pays the gas for.
///
/// It is two things at one address. As itself, the station, it is called by who pays. As the code of accounts that delegated
/// to it (EIP-7702), it executes what the account has signed, or what the account itself sends.
///
/// An authorization that has become invalid does not stop its transaction: the account would have no code, and a call of it
/// would do nothing and succeed. So who pays calls the station, which looks first.
contract GasStation is EIP712, ERC721Holder, ERC1155Holder, IERC1271 {
    struct Call {
        address to;
        uint256 value;
        bytes data;
    }

    /// @custom:storage-location erc7201:keystead.gas-station
    struct State {
        /// Of the next execution that is signed.
        uint248 nonce;
        /// Not to be entered again by what it calls.
        bool isRunning;
    }

    uint256 public constant MAX_CALLS = 50;
    bytes32 private constant CALL_TYPE = keccak256("Call(address to,uint256 value,bytes data)");
    bytes32 private constant EXECUTION_TYPE =
        keccak256(
            "Execution(address payer,uint256 nonce,uint256 deadline,Call[] calls)Call(address to,uint256 value,bytes data)"
        );
    bytes32 private constant STATE =
        keccak256(abi.encode(uint256(keccak256("keystead.gas-station")) - 1)) & ~bytes32(uint256(0xff));
    address private immutable STATION = address(this);

    error NotDelegated(address account);
    error NotAllowed();
    error Expired(uint256 deadline);
    error Reentered();
    error WrongNonce(uint256 expected);
    error WrongSignature();
    error WrongNumberOfCalls(uint256 calls);
    error CallReverted(uint256 index, bytes reason);

    modifier once() {
        State storage state = _state();
        if (state.isRunning) revert Reentered();
        state.isRunning = true;
        _;
        state.isRunning = false;
    }

    constructor() EIP712("Keystead Gas Station", "1") {}

    receive() external payable {
        if (address(this) == STATION) revert NotAllowed();
    }

    /// What an account signed, paid for by the sender, whom it has named. The account must have this station's code.
    function sponsor(
        address account,
        uint256 nonce,
        uint256 deadline,
        Call[] calldata calls,
        bytes calldata signature
    ) external {
        if (address(this) != STATION) revert NotAllowed();
        if (keccak256(account.code) != keccak256(abi.encodePacked(hex"ef0100", STATION))) revert NotDelegated(account);
        GasStation(payable(account)).execute(msg.sender, nonce, deadline, calls, signature);
    }

    /// At an account, for the station alone.
    function execute(
        address payer,
        uint256 nonce,
        uint256 deadline,
        Call[] calldata calls,
        bytes calldata signature
    ) external once {
        if (msg.sender != STATION || address(this) == STATION) revert NotAllowed();
        if (block.timestamp > deadline) revert Expired(deadline);
        State storage state = _state();
        if (nonce != state.nonce) revert WrongNonce(state.nonce);
        state.nonce = uint248(nonce + 1);
        bytes32 digest = _hashTypedDataV4(
            keccak256(abi.encode(EXECUTION_TYPE, payer, nonce, deadline, _hash(calls)))
        );
        if (ECDSA.recoverCalldata(digest, signature) != address(this)) revert WrongSignature();
        _run(calls);
    }

    /// At an account, for what it sends to itself.
    function executeBatch(Call[] calldata calls) external once {
        if (msg.sender != address(this) || address(this) == STATION) revert NotAllowed();
        _run(calls);
    }

    /// Contracts ask accounts with code whether they signed: one that delegated still signs with its key.
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        (address signer, ECDSA.RecoverError problem, ) = ECDSA.tryRecoverCalldata(hash, signature);
        bool isValid = problem == ECDSA.RecoverError.NoError && signer == address(this);
        return isValid ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }

    function _run(Call[] calldata calls) private {
        if (calls.length == 0 || calls.length > MAX_CALLS) revert WrongNumberOfCalls(calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            (bool isSuccess, bytes memory answer) = calls[i].to.call{value: calls[i].value}(calls[i].data);
            if (!isSuccess) revert CallReverted(i, answer);
        }
    }

    function _hash(Call[] calldata calls) private pure returns (bytes32) {
        bytes32[] memory hashes = new bytes32[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            hashes[i] = keccak256(abi.encode(CALL_TYPE, calls[i].to, calls[i].value, keccak256(calls[i].data)));
        }
        return keccak256(abi.encodePacked(hashes));
    }

    function _state() private pure returns (State storage state) {
        bytes32 slot = STATE;
        assembly ("memory-safe") {
            state.slot := slot
        }
    }
}
