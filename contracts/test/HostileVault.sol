// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// A vault that does what a test has it do wrong.
contract HostileVault is ERC4626 {
    enum Trick {
        NONE,
        /// Says nothing of what its shares are worth.
        SILENT,
        /// Says that they are worth as much as a number can be.
        BOASTS,
        /// Answers with too few bytes.
        MUMBLES,
        /// Neither takes nor gives.
        REVERTS,
        /// Takes a deposit and gives no shares.
        STEALS,
        /// Takes one less than it was given.
        LEAVES,
        /// Burns shares and pays half of them.
        SHORTCHANGES,
        /// Takes more shares than were to be redeemed.
        OVERTAKES,
        /// Calls its caller while it works.
        REENTERS
    }

    Trick public trick;
    bytes private _call;

    constructor(IERC20 asset_) ERC20("Hostile Vault", "hv") ERC4626(asset_) {}

    function play(Trick trick_, bytes calldata call_) external {
        trick = trick_;
        _call = call_;
    }

    function convertToAssets(uint256 shares) public view override returns (uint256) {
        if (trick == Trick.SILENT) revert("silent");
        if (trick == Trick.BOASTS) return type(uint256).max;
        if (trick == Trick.MUMBLES) {
            assembly {
                return(0, 3)
            }
        }
        return super.convertToAssets(shares);
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        if (trick == Trick.REVERTS) revert("closed");
        if (trick == Trick.STEALS) shares = 0;
        if (trick == Trick.LEAVES) assets -= 1;
        super._deposit(caller, receiver, assets, shares);
        _reenter();
    }

    function _withdraw(address caller, address receiver, address owner, uint256 assets, uint256 shares)
        internal
        override
    {
        if (trick == Trick.REVERTS) revert("closed");
        if (trick == Trick.SHORTCHANGES) assets /= 2;
        if (trick == Trick.OVERTAKES) shares += 1;
        super._withdraw(caller, receiver, owner, assets, shares);
        _reenter();
    }

    function _reenter() private {
        if (trick != Trick.REENTERS) return;
        (bool isDone, bytes memory answer) = msg.sender.call(_call);
        if (isDone) return;
        assembly {
            revert(add(answer, 32), mload(answer))
        }
    }
}
