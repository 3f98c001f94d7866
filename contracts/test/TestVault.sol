// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// An ERC-4626 vault whose yield is whatever is sent to it, and that anybody may have lose some.
contract TestVault is ERC4626 {
    constructor(IERC20 asset_) ERC20("Test Vault", "tvUSD") ERC4626(asset_) {}

    function lose(uint256 assets) external {
        IERC20(asset()).transfer(address(0xdead), assets);
    }
}
