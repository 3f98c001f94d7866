// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {FeeWrapper} from "./FeeWrapper.sol";

/// Receives the fee of the wrapper that made it, and pays it to the client and to the service by their parts. It pays the vault's
/// asset: shares that it holds are redeemed first. Anybody may have it pay, and nobody can say where to.
abstract contract FeeSplitter is ReentrancyGuard {
    using SafeERC20 for IERC20;

    FeeWrapper public immutable wrapper;
    address public immutable client;
    address public immutable service;
    uint256 public totalShares;
    /// By account: its part, in basis points of the gain.
    mapping(address account => uint256) public shares;
    mapping(IERC20 token => uint256) public totalReleased;
    mapping(IERC20 token => mapping(address account => uint256)) public released;

    event PaymentReleased(IERC20 indexed token, address indexed to, uint256 amount);

    error NothingDue(address account);
    /// Fees come in shares of the wrapper and are paid in its asset alone.
    error NotPaidHere(IERC20 token);

    constructor(address client_, uint256 clientFeeBps, address service_, uint256 serviceFeeBps) {
        wrapper = FeeWrapper(msg.sender);
        client = client_;
        service = service_;
        // Both may be the same.
        shares[client_] += clientFeeBps;
        shares[service_] += serviceFeeBps;
        totalShares = clientFeeBps + serviceFeeBps;
    }

    /// What an account could be paid of a token now, the fee that the wrapper has not taken yet included.
    function releasable(IERC20 token, address account) public view returns (uint256) {
        if (address(token) == address(wrapper)) return 0;
        uint256 incoming = address(token) == wrapper.asset() ? _worth() : 0;
        return _due(token, account, token.balanceOf(address(this)) + incoming);
    }

    function _worth() private view returns (uint256) {
        return wrapper.previewRedeem(wrapper.balanceOf(address(this)) + wrapper.pendingFeeShares());
    }

    function _due(IERC20 token, address account, uint256 balance) private view returns (uint256) {
        if (totalShares == 0) return 0;
        uint256 all = Math.mulDiv(balance + totalReleased[token], shares[account], totalShares);
        return Math.saturatingSub(all, released[token][account]);
    }

    /// Has the fee here as the asset, as far as the vault can pay it out now.
    function _collect(IERC20 token) internal {
        require(address(token) != address(wrapper), NotPaidHere(token));
        if (address(token) != wrapper.asset()) return;
        wrapper.accrue();
        uint256 balance = wrapper.balanceOf(address(this));
        // What came in before can be paid whether the vault pays or not.
        if (balance > 0) try wrapper.redeem(balance, address(this), address(this)) {} catch {}
    }

    /// Pays what an account is due of what is here. Resolves to the amount.
    function _pay(IERC20 token, address account) internal returns (uint256 amount) {
        amount = _due(token, account, token.balanceOf(address(this)));
        if (amount == 0) return 0;
        totalReleased[token] += amount;
        released[token][account] += amount;
        token.safeTransfer(account, amount);
        emit PaymentReleased(token, account, amount);
    }
}
