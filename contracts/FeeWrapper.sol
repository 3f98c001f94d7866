// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC4626} from "@openzeppelin/contracts/interfaces/IERC4626.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";

/// An ERC-4626 vault over another one, with a fee on what that one earns. It has no owner, no switch and no setting that can change:
/// whoever holds its shares can always withdraw what the vault beneath gives.
///
/// What it holds is counted in shares of the vault beneath, as they were measured when they came and went. Shares and assets that
/// somebody sends to it uncalled count for nothing, so that nobody can move the price of its own shares by a gift.
///
/// The fee is a part of each gain over the highest value so far. It is paid in new shares, to `performanceFeeRecipient`.
abstract contract FeeWrapper is ERC20, IERC4626, ReentrancyGuard {
    using SafeERC20 for IERC20;

    uint256 private constant BASIS_POINTS = 10_000;
    uint256 private constant MAX_FEE_BPS = 5_000;
    uint256 private constant MAX_CLIENT_FEE_BPS = 4_000;
    /// Shares that nobody holds, against one share of the vault beneath that is not there: what rounding leaves is no bait.
    uint8 private constant OFFSET = 6;
    uint256 private constant VIRTUAL_SHARES = 10 ** OFFSET;
    /// A deposit whose shares would be worth less than this part of it is refused.
    uint256 private constant LEAST_WORTH_BPS = 9_900;

    IERC4626 public immutable vault;
    IERC20 private immutable _asset;
    uint256 public immutable performanceFeeBps;
    uint8 private immutable _decimals;

    /// Shares of the vault beneath.
    uint256 public held;
    /// What they were worth when last looked at; in assets.
    uint256 public lastValue;
    /// Losses that no gain has made up for yet; in assets.
    uint256 public carriedLoss;

    event FeeAccrued(uint256 gain, uint256 fee, uint256 shares);

    error FeeTooHigh(uint256 clientFeeBps, uint256 serviceFeeBps);
    error VaultUnavailable();
    /// The vault beneath gave or took something else than it was asked for.
    error VaultMisbehaved();
    error DepositWorthLess(uint256 assets, uint256 worth);

    /// @param clientFeeBps a part of each gain, in basis points; at most 4000, and 5000 with the service's
    constructor(IERC4626 vault_, uint256 clientFeeBps, uint256 serviceFeeBps)
        ERC20(string.concat(vault_.name(), " with fee"), string.concat("f", vault_.symbol()))
    {
        require(clientFeeBps <= MAX_CLIENT_FEE_BPS, FeeTooHigh(clientFeeBps, serviceFeeBps));
        require(serviceFeeBps <= MAX_FEE_BPS - clientFeeBps, FeeTooHigh(clientFeeBps, serviceFeeBps));
        vault = vault_;
        _asset = IERC20(vault_.asset());
        performanceFeeBps = clientFeeBps + serviceFeeBps;
        _decimals = vault_.decimals() + OFFSET;
    }

    function performanceFeeRecipient() public view virtual returns (address);

    function decimals() public view override(ERC20, IERC20Metadata) returns (uint8) {
        return _decimals;
    }

    function asset() public view returns (address) {
        return address(_asset);
    }

    function totalAssets() external view returns (uint256) {
        return vault.convertToAssets(held);
    }

    /// Takes the fee on what was earned until now.
    function accrue() external nonReentrant {
        _accrue();
    }

    /// Shares of the fee that the next movement will make.
    function pendingFeeShares() public view returns (uint256 shares) {
        (,,,, shares) = _due();
    }

    // Conversions and previews: those of the vault beneath, and the fee until now is taken already.

    function convertToShares(uint256 assets) external view returns (uint256) {
        return _toOwn(vault.convertToShares(assets), _dueSupply(), Math.Rounding.Floor);
    }

    function convertToAssets(uint256 shares) external view returns (uint256) {
        return vault.convertToAssets(_toVault(shares, _dueSupply(), Math.Rounding.Floor));
    }

    function previewDeposit(uint256 assets) external view returns (uint256) {
        return _toOwn(vault.previewDeposit(assets), _dueSupply(), Math.Rounding.Floor);
    }

    function previewMint(uint256 shares) external view returns (uint256) {
        return vault.previewMint(_toVault(shares, _dueSupply(), Math.Rounding.Ceil));
    }

    function previewWithdraw(uint256 assets) external view returns (uint256) {
        return _toOwn(vault.previewWithdraw(assets), _dueSupply(), Math.Rounding.Ceil);
    }

    function previewRedeem(uint256 shares) public view returns (uint256) {
        return vault.previewRedeem(_toVault(shares, _dueSupply(), Math.Rounding.Floor));
    }

    // Vaults beneath may answer 0 for their own limits and take deposits all the same, so these are not held against them.

    function maxDeposit(address) external pure returns (uint256) {
        return type(uint256).max;
    }

    function maxMint(address) external pure returns (uint256) {
        return type(uint256).max;
    }

    function maxWithdraw(address owner) external view returns (uint256) {
        return previewRedeem(balanceOf(owner));
    }

    function maxRedeem(address owner) external view returns (uint256) {
        return balanceOf(owner);
    }

    function deposit(uint256 assets, address receiver) external nonReentrant returns (uint256 shares) {
        require(_accrue(), VaultUnavailable());
        uint256 before = vault.balanceOf(address(this));
        uint256 idle = _asset.balanceOf(address(this));
        _asset.safeTransferFrom(msg.sender, address(this), assets);
        _asset.forceApprove(address(vault), assets);
        vault.deposit(assets, address(this));
        // All of it was taken, and none that was here before.
        require(_asset.balanceOf(address(this)) == idle, VaultMisbehaved());
        uint256 gained = _increase(before);
        shares = _toOwn(gained, totalSupply(), Math.Rounding.Floor);
        _take(receiver, assets, shares, gained);
    }

    function mint(uint256 shares, address receiver) external nonReentrant returns (uint256 assets) {
        require(_accrue(), VaultUnavailable());
        uint256 wanted = _toVault(shares, totalSupply(), Math.Rounding.Ceil);
        uint256 before = vault.balanceOf(address(this));
        uint256 idle = _asset.balanceOf(address(this));
        assets = vault.previewMint(wanted);
        _asset.safeTransferFrom(msg.sender, address(this), assets);
        _asset.forceApprove(address(vault), assets);
        vault.mint(wanted, address(this));
        require(_asset.balanceOf(address(this)) == idle, VaultMisbehaved());
        uint256 gained = _increase(before);
        require(gained >= wanted, VaultMisbehaved());
        _take(receiver, assets, shares, gained);
    }

    function withdraw(uint256 assets, address receiver, address owner) external nonReentrant returns (uint256 shares) {
        _accrue();
        uint256 before = vault.balanceOf(address(this));
        uint256 had = _asset.balanceOf(receiver);
        vault.withdraw(assets, receiver, address(this));
        require(_asset.balanceOf(receiver) >= had + assets, VaultMisbehaved());
        uint256 spent = _decrease(before);
        shares = _toOwn(spent, totalSupply(), Math.Rounding.Ceil);
        _give(receiver, owner, assets, shares, spent);
    }

    function redeem(uint256 shares, address receiver, address owner) external nonReentrant returns (uint256 assets) {
        _accrue();
        uint256 worth = _toVault(shares, totalSupply(), Math.Rounding.Floor);
        uint256 spent;
        if (worth > 0) {
            uint256 before = vault.balanceOf(address(this));
            uint256 had = _asset.balanceOf(receiver);
            vault.redeem(worth, receiver, address(this));
            assets = _asset.balanceOf(receiver) - had;
            spent = _decrease(before);
            require(spent <= worth, VaultMisbehaved());
        }
        _give(receiver, owner, assets, shares, spent);
    }

    function _increase(uint256 before) private view returns (uint256) {
        return vault.balanceOf(address(this)) - before;
    }

    function _decrease(uint256 before) private view returns (uint256) {
        return before - vault.balanceOf(address(this));
    }

    /// Ends a deposit: what came in is held, and its shares are made.
    function _take(address receiver, uint256 assets, uint256 shares, uint256 gained) private {
        held += gained;
        // So that no product of it overflows, whatever a vault says.
        require(held <= type(uint128).max, VaultMisbehaved());
        _mint(receiver, shares);
        uint256 worth = vault.convertToAssets(_toVault(shares, totalSupply(), Math.Rounding.Floor));
        // Vaults that charge more than this for coming in, and shares that are too coarse for the amount, are not for deposits.
        require(worth >= Math.mulDiv(assets, LEAST_WORTH_BPS, BASIS_POINTS) && shares > 0, DepositWorthLess(assets, worth));
        (, lastValue) = _value(held);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    /// Ends a withdrawal: its shares are burned, and what went out is held no more.
    function _give(address receiver, address owner, uint256 assets, uint256 shares, uint256 spent) private {
        if (msg.sender != owner) _spendAllowance(owner, msg.sender, shares);
        // Losses leave with those who bear them.
        carriedLoss -= Math.mulDiv(carriedLoss, shares, totalSupply() + VIRTUAL_SHARES);
        _burn(owner, shares);
        uint256 before = held;
        held = before - spent;
        (bool isKnown, uint256 value) = _value(held);
        if (isKnown) lastValue = value;
        else if (before > 0) lastValue = Math.mulDiv(lastValue, held, before, Math.Rounding.Ceil);
        emit Withdraw(msg.sender, receiver, owner, assets, shares);
    }

    /// Whether the vault beneath says what its shares are worth; withdrawals do without.
    function _accrue() private returns (bool isKnown) {
        uint256 value;
        uint256 loss;
        uint256 fee;
        uint256 shares;
        (isKnown, value, loss, fee, shares) = _due();
        if (!isKnown) return false;
        if (shares > 0) {
            emit FeeAccrued(value - lastValue, fee, shares);
            _mint(performanceFeeRecipient(), shares);
        }
        lastValue = value;
        carriedLoss = loss;
    }

    /// What a look at the value now comes to. None of it can fail, whatever the vault beneath answers: withdrawals depend on it.
    function _due() private view returns (bool isKnown, uint256 value, uint256 loss, uint256 fee, uint256 shares) {
        (isKnown, value) = _value(held);
        loss = carriedLoss;
        if (!isKnown) return (false, 0, loss, 0, 0);
        if (value <= lastValue) return (true, value, Math.saturatingAdd(loss, lastValue - value), 0, 0);
        uint256 gain = value - lastValue;
        uint256 recovered = Math.min(gain, loss);
        loss -= recovered;
        fee = Math.mulDiv(gain - recovered, performanceFeeBps, BASIS_POINTS);
        // In shares of the vault beneath, as finely as our own are divided; the new shares are that part of all afterwards.
        uint256 part = Math.mulDiv(fee, held * VIRTUAL_SHARES, value);
        shares = Math.mulDiv(totalSupply() + VIRTUAL_SHARES, part, (held + 1) * VIRTUAL_SHARES - part);
    }

    function _value(uint256 vaultShares) private view returns (bool isKnown, uint256 assets) {
        bytes memory question = abi.encodeCall(IERC4626.convertToAssets, (vaultShares));
        (bool isAnswered, bytes32 answer,) = LowLevelCall.staticcallReturn64Bytes(address(vault), question);
        if (!isAnswered || LowLevelCall.returnDataSize() < 32) return (false, 0);
        return (true, uint256(answer));
    }

    function _dueSupply() private view returns (uint256) {
        return totalSupply() + pendingFeeShares();
    }

    function _toOwn(uint256 vaultShares, uint256 supply, Math.Rounding rounding) private view returns (uint256) {
        return Math.mulDiv(vaultShares, supply + VIRTUAL_SHARES, held + 1, rounding);
    }

    function _toVault(uint256 shares, uint256 supply, Math.Rounding rounding) private view returns (uint256) {
        return Math.mulDiv(shares, held + 1, supply + VIRTUAL_SHARES, rounding);
    }
}
